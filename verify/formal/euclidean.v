(** * Top-k with error feedback in Euclidean space

The theorems on residuals and on descent, for vectors [{ffun I -> R}] with [dot u v = sum_i (u i) (v i)] and the Top-k
compressor, whose [delta] is [k / d]. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import tail top_k feedback residual descent.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Every inner product gives a norm *)
Section Norm.

Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R).
Hypothesis inner : inner_product dot.
Local Notation square := (square dot).

Definition norm u : R := Num.sqrt (square u).

Lemma norm_ge0 u : 0 <= norm u.
Proof. exact: sqrtr_ge0. Qed.

Lemma norm_square u : norm u ^+ 2 = square u.
Proof. by rewrite sqr_sqrtr ?square_ge0. Qed.

Lemma norm0 : norm 0 = 0.
Proof. by rewrite /norm /descent.square (dot0l inner) sqrtr0. Qed.

Theorem cauchy_schwarz u v : dot u v ^+ 2 <= square u * square v.
Proof.
have := square_ge0 inner v; rewrite le_eqVlt => /predU1P[flat | v_gt0].
  have [-> | slope] := eqVneq (dot u v) 0; first by rewrite expr0n /= -flat mulr0.
  pose b := - (square u + 1) / (2%:R * dot u v).
  have := square_ge0 inner (u + b *: v).
  rewrite squareD // squareZ // dotZr // -flat mulr0 addr0.
  have -> : square u + 2%:R * (b * dot u v) = - 1 by rewrite /b; field; rewrite slope.
  by rewrite ler0N1.
have : 0 <= square v * (square u * square v - dot u v ^+ 2).
  have := square_ge0 inner (square v *: u - dot u v *: v).
  by rewrite squareB // !squareZ // dotZl // dotZr //; congr (0 <= _); ring.
by rewrite pmulr_rge0 // subr_ge0.
Qed.

Theorem norm_triangle u v : norm (u + v) <= norm u + norm v.
Proof.
rewrite -ler_sqr ?nnegrE ?norm_ge0 ?addr_ge0 ?norm_ge0 // norm_square squareD // sqrrD !norm_square.
rewrite ler_add2r ler_add2l -[X in _ <= X]mulr_natl ler_wpmul2l ?ler0n //.
apply: le_trans (ler_norm _) _; rewrite -ler_sqr ?nnegrE ?mulr_ge0 ?norm_ge0 //.
by rewrite real_normK ?num_real // exprMn !norm_square; apply: cauchy_schwarz.
Qed.

End Norm.

Section TopK.

Variables (R : rcfType) (I : finType).
Local Notation vector := {ffun I -> R^o}.
Local Notation d := #|I|.

Definition dot (u v : vector) : R := \sum_i u i * v i.

Lemma dot_inner : inner_product dot.
Proof.
split=> [u v | u v w | a u v | u].
- by apply: eq_bigr => i _; rewrite mulrC.
- by rewrite /dot -big_split; apply: eq_bigr => i _; rewrite ffunE mulrDl.
- by rewrite /dot mulr_sumr; apply: eq_bigr => i _; rewrite ffunE -mulrA.
by apply: sumr_ge0 => i _; rewrite -expr2 sqr_ge0.
Qed.

Definition top_k_payload (k : nat) (u : vector) : vector := [ffun i => if i \in top_k u k then u i else 0].

Lemma square_energy (u : vector) : square dot u = energy u.
Proof. by apply: eq_bigr => i _; rewrite expr2. Qed.

Lemma square_kept_back k (u : vector) : square dot (u - top_k_payload k u) = kept_back u (top_k u k).
Proof.
rewrite /square /dot /kept_back [RHS]big_mkcond; apply: eq_bigr => i _ /=.
by rewrite !ffunE; case: (i \in _); rewrite /= ?subrr ?mul0r // subr0 expr2.
Qed.

Definition density (k : nat) : R := k%:R / d%:R.

Theorem top_k_compresses k (u : vector) : (0 < d)%N -> (k <= d)%N ->
  square dot (u - top_k_payload k u) <= (1 - density k) * square dot u.
Proof.
move=> d_gt0 kd; rewrite square_kept_back square_energy.
apply: le_trans (top_k_contracts d_gt0 (@top_k_is_top _ _ u k)) _.
rewrite top_k_card // /classical_share /classical_numerator /classical_denominator /density natrB // mulrBl.
by rewrite divff // pnatr_eq0 -lt0n.
Qed.

Lemma density_gt0 k : (0 < k)%N -> (k <= d)%N -> 0 < density k.
Proof. by move=> k_gt0 kd; rewrite divr_gt0 ?ltr0n // (leq_trans k_gt0). Qed.

Lemma density_le1 k : (0 < d)%N -> (k <= d)%N -> density k <= 1.
Proof. by move=> d_gt0 kd; rewrite ler_pdivr_mulr ?ltr0n // mul1r ler_nat. Qed.

Theorem top_k_residual (h e : nat -> vector) k G t :
  (0 < k)%N -> (k <= d)%N -> (forall t, norm dot (h t) <= G) ->
  residual.feeds_back (fun=> top_k_payload k) h e ->
  norm dot (e t) ^+ 2 <= young_bound (density k) G.
Proof.
move=> k_gt0 kd bounded feeds; have d_gt0 := leq_trans k_gt0 kd.
apply: (residual_bound (N := norm dot) (C := fun=> top_k_payload k) (h := h)) => //.
- exact: norm0 dot_inner.
- exact: norm_ge0.
- exact: norm_triangle dot_inner.
- exact: density_gt0.
- exact: density_le1.
by move=> s u; rewrite !(norm_square dot_inner); apply: top_k_compresses.
Qed.

Theorem top_k_descends (W : finType) (f : vector -> R) (grad : vector -> vector) (local : W -> vector -> vector)
    (x : nat -> vector) (e : W -> nat -> vector) (eta L f_min zeta2 : R) k T :
  (0 < #|W|)%N -> (0 < k)%N -> (k <= d)%N -> 0 <= eta -> 0 <= L -> 4%:R * L * eta <= density k ->
  mean_gradient grad local -> heterogeneous dot grad local zeta2 ->
  smooth dot f grad L -> lipschitz dot grad L -> bounded_below f f_min ->
  descent.feeds_back local (fun _ _ => top_k_payload k) x e eta ->
  eta / 4%:R * (\sum_(0 <= t < T) square dot (grad (x t))) <=
  descent_bound (f (x 0%N) - f_min) eta L (density k) zeta2 T.
Proof.
move=> workers k_gt0 kd eta_ge0 L_ge0 small gradE hetero sm lip below feeds; have d_gt0 := leq_trans k_gt0 kd.
have compr : compresses dot (fun (_ : W) (_ : nat) => top_k_payload k) (density k).
  by move=> w t u; apply: top_k_compresses.
exact: (descent dot_inner workers (density_gt0 k_gt0 kd) (density_le1 d_gt0 kd) eta_ge0 L_ge0 small
  T gradE hetero sm lip below compr feeds).
Qed.

End TopK.
