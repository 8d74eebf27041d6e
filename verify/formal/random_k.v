(** * Coordinates drawn uniformly

If the [k] coordinates that are sent are drawn uniformly among all sets with [k] of the [d], the mean square of what is
kept back is exactly [(1 - k / d)] times the square of the vector, whatever the vector: of the [C(d, k)] sets
[C(d - 1, k)] leave a given coordinate out. So Rand-k contracts in the mean with [delta = k / d], though no draw of it
contracts every vector, and the bounds on the residual hold for it. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import tail top_k feedback residual descent euclidean probability random_residual.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Sets.

Variables (I : finType) (k : nat).

Lemma sets_without (i : I) : #|[pred S : {set I} | (#|S| == k) && (i \notin S)]| = 'C(#|I|.-1, k).
Proof.
rewrite -(cardsC1 i) -(cards_draws (~: [set i]) k) cardsE; apply: eq_card => S; rewrite !inE andbC; congr (_ && _).
by rewrite subsetC sub1set inE.
Qed.

End Sets.

Definition random_share (R : rcfType) (d k : nat) : R := 1 - k%:R / d%:R.

Lemma share_of_sets (R : rcfType) (d k : nat) :
  (0 < d)%N -> (k <= d)%N -> 'C(d, k)%:R^-1 * 'C(d.-1, k)%:R = random_share R d k.
Proof.
move=> d_gt0 kd; have C_neq0 : 'C(d, k)%:R != 0 :> R by rewrite pnatr_eq0 -lt0n bin_gt0.
have d_neq0 : d%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have count : d%:R * 'C(d.-1, k)%:R = (d%:R - k%:R) * 'C(d, k)%:R :> R by rewrite -natrM mul_bin_down natrM natrB.
apply: (mulfI d_neq0); rewrite mulrCA count mulrCA mulVf // mulr1 /random_share.
by rewrite mulrBr mulr1 mulrCA divff // mulr1.
Qed.

Section RandomK.

Variables (R : rcfType) (I : finType) (Omega : finType) (P : Omega -> R).
Local Notation vector := {ffun I -> R^o}.
Local Notation d := #|I|.
Local Notation dot := (@dot R I).

Definition payload_on (S : {set I}) (u : vector) : vector := [ffun i => if i \in S then u i else 0].
Definition drawn_uniformly (k : nat) (draw : Omega -> {set I}) : Prop :=
  forall S, chance P (fun o => draw o == S) = (if #|S| == k then 'C(d, k)%:R^-1 else 0).

Lemma square_payload_on (S : {set I}) (u : vector) : square dot (u - payload_on S u) = kept_back u S.
Proof.
rewrite /square /euclidean.dot /kept_back [RHS]big_mkcond; apply: eq_bigr => i _ /=.
by rewrite !ffunE; case: (i \in S); rewrite /= ?subrr ?mul0r // subr0 expr2.
Qed.

Lemma expect_of_set (draw : Omega -> {set I}) (F : {set I} -> R) :
  expect P (fun o => F (draw o)) = \sum_S chance P (fun o => draw o == S) * F S.
Proof.
rewrite /expect (partition_big draw xpredT) //=; apply: eq_bigr => S _; rewrite /chance mulr_suml.
by apply: eq_bigr => o /eqP ->.
Qed.

Theorem random_k_keeps_back k (draw : Omega -> {set I}) (u : vector) :
  (0 < d)%N -> (k <= d)%N -> drawn_uniformly k draw ->
  expect P (fun o => square dot (u - payload_on (draw o) u)) = random_share R d k * square dot u.
Proof.
move=> d_gt0 kd uniform; rewrite (eq_expect P (Y := fun o => kept_back u (draw o))) => [|o]; last first.
  exact: square_payload_on.
pose kept (S : {set I}) : R := if #|S| == k then kept_back u S else 0.
rewrite (expect_of_set draw (kept_back u)) (eq_bigr (fun S => 'C(d, k)%:R^-1 * kept S)) => [|S _].
  rewrite -mulr_sumr -big_mkcond /kept_back (exchange_big_dep xpredT) //= square_energy /energy !mulr_sumr.
  apply: eq_bigr => i _.
  rewrite sumr_const sets_without -[u i ^+ 2 *+ _]mulr_natl mulrA; congr (_ * _).
  exact: share_of_sets.
by rewrite uniform /kept; case: (#|S| == k); rewrite ?mul0r ?mulr0.
Qed.

(** No set that leaves a coordinate out contracts every vector: the contraction is one of the mean. *)
Theorem no_set_contracts (S : {set I}) :
  (#|S| < d)%N -> exists2 u, 0 < square dot u & square dot (u - payload_on S u) = square dot u.
Proof.
move=> small; have [i out] : exists i, i \notin S.
  by apply/existsP; apply: contraTT small => /existsPn all_in; rewrite -leqNgt -cardsT subset_leq_card //;
    apply/subsetP => i _; rewrite -[_ \in _]negbK.
pose u : vector := [ffun j => (j == i)%:R]; exists u.
  rewrite square_energy /energy (bigD1 i) //= ffunE eqxx expr1n ltr_paddr ?ltr01 //.
  by apply: sumr_ge0 => j _; apply: sqr_ge0.
rewrite square_payload_on square_energy kept_backE big1 ?subr0 // => j jS.
by rewrite ffunE (_ : j == i = false) ?expr0n //; apply: contraTF jS => /eqP ->.
Qed.

(** The hypothesis of the residual's bounds. *)
Theorem random_k_contracts k (draw : Omega -> {set I}) :
  (0 < d)%N -> (k <= d)%N -> drawn_uniformly k draw ->
  contracts_in_mean P (norm dot) payload_on draw (density R I k).
Proof.
move=> d_gt0 kd uniform u; rewrite (norm_square (@dot_inner R I)) -(random_k_keeps_back _ d_gt0 kd uniform).
by rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_expect => o; rewrite (norm_square (@dot_inner R I)).
Qed.

Theorem random_k_residual (draw : nat -> Omega -> {set I}) (g e : nat -> Omega -> vector) (eta sigma2 : R) k t :
  probability P -> (0 < k)%N -> (k <= d)%N -> 0 <= sigma2 ->
  feeds_back (fun=> payload_on) draw g e eta -> (forall s, (s < t)%N -> drawn_uniformly k (draw s)) ->
  draws_afresh_before P draw g e eta t -> second_moment_before P (norm dot) g sigma2 t ->
  expect P (fun o => norm dot (e t o) ^+ 2) <= mean_young_bound (density R I k) eta sigma2.
Proof.
move=> prob k_gt0 kd sigma2_ge0 feeds uniform fresh moment; have d_gt0 := leq_trans k_gt0 kd.
apply: mean_residual_bound prob (norm_seminorm (@dot_inner R I)) _ _ sigma2_ge0 _ feeds _ fresh moment.
- exact: density_gt0.
- exact: density_le1.
by move=> s st; apply: random_k_contracts => //; apply: uniform.
Qed.

End RandomK.
