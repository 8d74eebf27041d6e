(** * No theorem is about nothing

For every set of hypotheses in these files there is something that satisfies it, and where a bound is called sharp,
something that attains it:

- vectors whose sorted squares are the weights [(d - i)^r]: they are star-shaped and lose exactly the share [r];
- for [r = 1] the squares, for [r = 2] the magnitudes are convex in rank, with a zero after the last one;
- two different top sets of one size; a threshold that keeps a band of [k];
- the scalar compressor [C u = (1 - a) u] with constant gradients [G], which attains every partial sum of the residual's
  bound: its residual is [a G / (1 - a)] times [1 - a^t];
- for any compressor, start and number of workers a run of descent with error feedback, on [f = L/2 |x|^2] with workers
  pulled apart by vectors of mean zero; with Top-k all hypotheses of its descent theorem hold;
- for any compressor and gradients a run of error feedback in which payloads are applied [tau] steps late. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import zify.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import tail powers top_k feedback residual descent euclidean.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Vectors with given sorted squares *)
Section Sorted.

Variables (R : rcfType) (w : nat -> R).
Hypotheses (w_ge0 : forall i, 0 <= w i) (w_falls : forall i j, (i <= j)%N -> w j <= w i).

Definition root_vector (d : nat) (i : 'I_d) : R := Num.sqrt (w i).

Lemma root_vector_ranking d : ranking (@root_vector d) = enum 'I_d.
Proof.
apply: sorted_sort; first exact: larger_trans.
have : sorted leq [seq val i | i <- enum 'I_d] by rewrite val_enum_ord iota_sorted.
rewrite sorted_map; apply: sub_sorted => i j /= ij.
by rewrite /larger /root_vector !ger0_norm ?sqrtr_ge0 // ler_wsqrtr // w_falls.
Qed.

Lemma root_vector_sorted_square d j : (j < d)%N -> sorted_square (@root_vector d) j = w j.
Proof.
move=> jd; rewrite /sorted_square root_vector_ranking (nth_map (Ordinal jd)) ?size_enum_ord //.
by rewrite /root_vector nth_enum_ord // sqr_sqrtr.
Qed.

Lemma root_vector_tail d k : tail (sorted_square (@root_vector d)) k d = tail w k d.
Proof. by apply: eq_big_nat => i /andP[_ id]; apply: root_vector_sorted_square. Qed.

Lemma root_vector_keeps_back d k : (k <= d)%N -> kept_back (@root_vector d) (top_k (@root_vector d) k) = tail w k d.
Proof. by move=> kd; rewrite top_k_keeps_back_the_tail card_ord // root_vector_tail. Qed.

Lemma root_vector_energy d : energy (@root_vector d) = tail w 0 d.
Proof. by rewrite energy_sorted card_ord root_vector_tail. Qed.

Lemma root_vector_star_shaped d : star_shaped (@root_vector d) w.
Proof.
move=> i j ij; rewrite card_ord => jd.
by rewrite !root_vector_sorted_square // ?(leq_ltn_trans ij) // mulrC.
Qed.

End Sorted.

(** The vector whose sorted squares are [(d - i)^r] loses exactly the share [r]. *)
Section Attained.

Variable R : rcfType.

Definition power_vector (r d : nat) : 'I_d -> R := @root_vector R (power_weight R r d) d.

Lemma power_weight_falls r d i j : (i <= j)%N -> power_weight R r d j <= power_weight R r d i.
Proof. by move=> ij; rewrite ler_nat expn_le // leq_sub2l. Qed.

Lemma power_vector_star_shaped r d : star_shaped (@power_vector r d) (power_weight R r d).
Proof. by apply: root_vector_star_shaped => [i | i j]; [exact: ler0n | exact: power_weight_falls]. Qed.

Lemma power_vector_attains r d k : (0 < d)%N -> (k <= d)%N ->
  0 < energy (@power_vector r d) /\
  kept_back (@power_vector r d) (top_k (@power_vector r d) k) = power_share R r d k * energy (@power_vector r d).
Proof.
move=> d_gt0 kd; have ge0 i : 0 <= power_weight R r d i by exact: ler0n.
have falls := @power_weight_falls r d.
have total_gt0 : 0 < tail (power_weight R r d) 0 d by rewrite power_tail // subn0 ltr0n power_sum_gt0.
by rewrite root_vector_energy // root_vector_keeps_back // power_shareE // divfK ?lt0r_neq0.
Qed.

Theorem power_share_attained r d k : (0 < d)%N -> (k <= d)%N ->
  exists u : 'I_d -> R, [/\ star_shaped u (power_weight R r d), 0 < energy u
                          & kept_back u (top_k u k) = power_share R r d k * energy u].
Proof.
move=> d_gt0 kd; have [pos lost] := power_vector_attains r d_gt0 kd.
by exists (@power_vector r d); split=> //; exact: power_vector_star_shaped.
Qed.

(** For [r = 1] the squares, for [r = 2] the magnitudes are [d - i]: convex in rank up to the zero at [d]. *)
Lemma power_vector_sorted_square r d j : (0 < r)%N -> (j <= d)%N ->
  sorted_square (@power_vector r d) j = power_weight R r d j.
Proof.
move=> r_gt0; rewrite leq_eqVlt => /predU1P[-> | jd].
  by have := sorted_square_end (@power_vector r d); rewrite card_ord /power_weight subnn exp0n.
by apply: root_vector_sorted_square jd => [i | i l]; [exact: ler0n | exact: power_weight_falls].
Qed.

Lemma linear_is_convex (s : nat -> R) d : (forall j, (j <= d)%N -> s j = linear_weight R d j) -> convex_in_rank s d.
Proof.
by move=> same i id; rewrite !same ?(ltnW id, ltnW (ltnW id)) // /linear_weight -natrD -mulrnA ler_nat; lia.
Qed.

Theorem top_k_contracts_convex_is_sharp d k : (0 < d)%N -> (k <= d)%N ->
  exists u : 'I_d -> R, [/\ convex_in_rank (sorted_square u) d, 0 < energy u
                          & kept_back u (top_k u k) = square_share R d k * energy u].
Proof.
move=> d_gt0 kd; have [pos lost] := power_vector_attains 1 d_gt0 kd.
exists (@power_vector 1 d); rewrite -power_share1 //; split=> //; apply: linear_is_convex => j jd.
by rewrite power_vector_sorted_square // /power_weight expn1.
Qed.

Theorem top_k_contracts_convex_magnitudes_is_sharp d k : (0 < d)%N -> (k <= d)%N ->
  exists u : 'I_d -> R, [/\ convex_in_rank (sorted_magnitude u) d, 0 < energy u
                          & kept_back u (top_k u k) = cubic_share R d k * energy u].
Proof.
move=> d_gt0 kd; have [pos lost] := power_vector_attains 2 d_gt0 kd.
exists (@power_vector 2 d); rewrite -power_share2 //; split=> //; apply: linear_is_convex => j jd.
apply/eqP; rewrite -(@eqr_expn2 _ 2) ?sorted_magnitude_ge0 ?ler0n // -sorted_squareE.
by rewrite power_vector_sorted_square // /power_weight natrX.
Qed.

End Attained.

Corollary top_k_contracts_is_sharp (R : rcfType) d k : (0 < d)%N -> (k <= d)%N ->
  exists2 u : 'I_d -> R, 0 < energy u & kept_back u (top_k u k) = classical_share R d k * energy u.
Proof.
by move=> d_gt0 kd; have [u [_ pos lost]] := power_share_attained R 0 d_gt0 kd; exists u; rewrite -?power_share0.
Qed.

Corollary top_k_contracts_square_is_sharp (R : rcfType) d k : (0 < d)%N -> (k <= d)%N ->
  exists u : 'I_d -> R, [/\ star_shaped u (linear_weight R d), 0 < energy u
                          & kept_back u (top_k u k) = square_share R d k * energy u].
Proof.
move=> d_gt0 kd; have [u [star pos lost]] := power_share_attained R 1 d_gt0 kd; exists u.
by split=> //; rewrite -power_share1.
Qed.

Corollary top_k_contracts_cubic_is_sharp (R : rcfType) d k : (0 < d)%N -> (k <= d)%N ->
  exists u : 'I_d -> R, [/\ star_shaped u (square_weight R d), 0 < energy u
                          & kept_back u (top_k u k) = cubic_share R d k * energy u].
Proof. by move=> d_gt0 kd; have := power_share_attained R 2 d_gt0 kd; rewrite power_share2. Qed.

Section Selections.

Variable R : realFieldType.

Lemma squares_are_convex_in_rank d : convex_in_rank (square_weight R d) d /\ square_weight R d d = 0.
Proof.
split=> [i id|]; last by rewrite /square_weight subnn.
rewrite /square_weight -natrD -mulrnA ler_nat.
have [m ->] : exists m, d = (m + i.+2)%N by exists (d - i.+2)%N; rewrite subnK.
have -> : (m + i.+2 - i = m + 2)%N by lia.
have -> : (m + i.+2 - i.+1 = m + 1)%N by lia.
have -> : (m + i.+2 - i.+2 = m)%N by lia.
nia.
Qed.

Definition constant_vector (I : finType) (i : I) : R := 1.

Lemma every_set_is_top (I : finType) (S : {set I}) : is_top (@constant_vector I) S.
Proof. by move=> i j _ _. Qed.

Example top_sets_with_ties :
  exists S T : {set bool}, [/\ is_top (@constant_vector _) S, is_top (@constant_vector _) T, #|S| = #|T| & S <> T].
Proof.
exists [set true], [set false]; split; rewrite ?cards1 //; try exact: every_set_is_top.
by move/setP/(_ true); rewrite !inE.
Qed.

Lemma band_is_kept (I : finType) k : (k <= #|I|)%N -> (band_least k <= #|above (@constant_vector I) 1|)%N.
Proof.
move=> kd; have -> : above (@constant_vector I) 1 = setT by apply/setP => i; rewrite !inE normr1 lexx.
by rewrite band_leastP cardsT; lia.
Qed.

End Selections.

(** ** The residual's bound is attained *)
Section Scalar.

Variables (R : rcfType) (delta G : R).
Hypotheses (delta_gt0 : 0 < delta) (delta_le1 : delta <= 1) (G_ge0 : 0 <= G).

Let a := Num.sqrt (1 - delta).

Definition scalar_compressor (t : nat) (u : R) : R := (1 - a) * u.
Definition scalar_residual (t : nat) : R := G * \sum_(1 <= i < t.+1) a ^+ i.

Lemma scalar_contracts : residual.contracts (fun u : R => `|u|) scalar_compressor delta.
Proof.
move=> t u; have -> : u - scalar_compressor t u = a * u by rewrite /scalar_compressor; ring.
by rewrite normrM exprMn ger0_norm ?sqrtr_ge0 // sqr_sqrtr // subr_ge0.
Qed.

Lemma scalar_feeds_back : residual.feeds_back scalar_compressor (fun=> G) scalar_residual.
Proof.
split=> [|t]; first by rewrite /scalar_residual big_geq ?mulr0.
rewrite /scalar_residual /scalar_compressor big_nat_recl // expr1.
have -> : \sum_(1 <= i < t.+1) a ^+ i.+1 = a * \sum_(1 <= i < t.+1) a ^+ i.
  by rewrite mulr_sumr; apply: eq_bigr => i _; rewrite exprS.
ring.
Qed.

(** All hypotheses of the bounds on the residual, and the first of them with equality. *)
Theorem residual_partial_attained : exists (C : nat -> R -> R) (h e : nat -> R),
  [/\ residual.contracts (fun u : R => `|u|) C delta, residual.feeds_back C h e, forall t, `|h t| <= G
    & forall t, `|e t| = G * \sum_(1 <= i < t.+1) a ^+ i].
Proof.
exists scalar_compressor, (fun=> G), scalar_residual; split=> [||t|t]; rewrite ?ger0_norm ?mulr_ge0 //.
- exact: scalar_contracts.
- exact: scalar_feeds_back.
by rewrite sumr_ge0 // => i _; rewrite exprn_ge0 ?sqrtr_ge0.
Qed.

Theorem scalar_residualE t : scalar_residual t = a * G / (1 - a) * (1 - a ^+ t).
Proof.
have room : 1 - a != 0 by rewrite subr_eq0 eq_sym lt_eqF // a_lt1.
rewrite /scalar_residual; elim: t => [|t IH]; first by rewrite big_geq // expr0 subrr !mulr0.
by rewrite big_nat_recr //= [LHS]mulrDr IH exprS; field.
Qed.

(** All hypotheses of [residual_bound] at once. *)
Corollary scalar_residual_bound t : `|scalar_residual t| ^+ 2 <= young_bound delta G.
Proof.
apply: (residual_bound (N := fun u : R => `|u|)) scalar_contracts scalar_feeds_back => //.
- exact: normr0.
- exact: ler_norm_add.
by move=> s; rewrite ger0_norm.
Qed.

End Scalar.

(** Error feedback runs on every sequence of gradients. *)
Lemma residual_runs (V : zmodType) (C : nat -> V -> V) (h : nat -> V) : exists e, residual.feeds_back C h e.
Proof. by exists (fix e t := if t is s.+1 then e s + h s - C s (e s + h s) else 0). Qed.

(** ** A run of descent with error feedback *)
Section Run.

Variables (R : realFieldType) (V : lmodType R) (W : finType).
Variables (local : W -> V -> V) (C : W -> nat -> V -> V) (eta : R) (x0 : V).

(** Iterate and residuals. *)
Fixpoint run (t : nat) : V * (W -> V) :=
  if t is s.+1 then
    let u w := (run s).2 w + eta *: local w (run s).1 in
    ((run s).1 - mean (fun w => C w s (u w)), fun w => u w - C w s (u w))
  else (x0, fun=> 0).

Lemma run_feeds_back : descent.feeds_back local C (fun t => (run t).1) (fun w t => (run t).2 w) eta.
Proof. by []. Qed.

End Run.

Section Quadratic.

Variables (R : realFieldType) (V : lmodType R) (dot : V -> V -> R) (W : finType) (L : R) (pull : W -> V).
Hypotheses (inner : inner_product dot) (workers : (0 < #|W|)%N) (L_ge0 : 0 <= L) (balanced : mean pull = 0).

Definition quadratic (y : V) : R := L / 2%:R * square dot y.
Definition quadratic_grad (y : V) : V := L *: y.
Definition quadratic_local (w : W) (y : V) : V := L *: y + pull w.
Definition pull_square : R := mean_value (fun w => square dot (pull w)).

Lemma mean_const (v : V) : mean (fun _ : W => v) = v.
Proof. by rewrite /mean sumr_const -scaler_nat scalerA mulVf ?scale1r // count_neq0. Qed.

Lemma quadratic_smooth : smooth dot quadratic quadratic_grad L.
Proof.
move=> y z; rewrite -[in X in X <= _](subrK y z) /quadratic /quadratic_grad squareD // dotZl //.
rewrite [dot (z - y) y]dotC // le_eqVlt; apply/orP; left; apply/eqP.
by field.
Qed.

Lemma quadratic_lipschitz : lipschitz dot quadratic_grad L.
Proof. by move=> y z; rewrite /quadratic_grad -scalerBr squareZ. Qed.

Lemma quadratic_bounded_below : bounded_below quadratic 0.
Proof. by move=> y; rewrite mulr_ge0 ?divr_ge0 ?ler0n ?square_ge0. Qed.

Lemma quadratic_mean_gradient : mean_gradient quadratic_grad quadratic_local.
Proof. by move=> y; rewrite /quadratic_local meanD mean_const balanced addr0. Qed.

Lemma quadratic_heterogeneous : heterogeneous dot quadratic_grad quadratic_local pull_square.
Proof.
move=> y; rewrite le_eqVlt; apply/orP; left; apply/eqP; congr (_ * _); apply: eq_bigr => w _.
by rewrite /quadratic_local /quadratic_grad addrAC subrr add0r.
Qed.

End Quadratic.

(** Two workers may be pulled apart by any vector, all by none. *)
Lemma opposite_pulls (R : realFieldType) (V : lmodType R) (v : V) : mean (fun w : bool => if w then v else - v) = 0.
Proof. by rewrite /mean big_bool /= subrr scaler0. Qed.

Lemma no_pull (R : realFieldType) (V : lmodType R) (W : finType) : mean (fun _ : W => 0 : V) = 0.
Proof. by rewrite /mean big1 ?scaler0. Qed.

(** All hypotheses of [top_k_descends], for every start. *)
Theorem top_k_descent_has_runs (R : rcfType) (I W : finType) (L : R) (k : nat)
    (pull : W -> {ffun I -> R^o}) (x0 : {ffun I -> R^o}) :
  (0 < #|W|)%N -> (0 < k)%N -> (k <= #|I|)%N -> 0 < L -> mean pull = 0 ->
  let dot := @dot R I in let f := quadratic dot L in
  let grad := quadratic_grad L in let local := quadratic_local L pull in
  [/\ smooth dot f grad L, lipschitz dot grad L, bounded_below f 0, mean_gradient grad local
    & heterogeneous dot grad local (pull_square dot pull)] /\
  exists eta x e, [/\ 0 < eta, 4%:R * L * eta <= density R I k, x 0%N = x0
    & descent.feeds_back local (fun (_ : W) _ => top_k_payload k) x e eta].
Proof.
move=> workers k_gt0 kd L_gt0 balanced dot f grad local; have inner := @dot_inner R I; have L_ge0 := ltW L_gt0.
split.
  split; [exact: quadratic_smooth | exact: quadratic_lipschitz | exact: quadratic_bounded_below | |].
    exact: quadratic_mean_gradient.
  exact: quadratic_heterogeneous.
pose eta := density R I k / (4%:R * L); pose C (_ : W) (_ : nat) := @top_k_payload R I k.
exists eta, (fun t => (run local C eta x0 t).1), (fun w t => (run local C eta x0 t).2 w); split=> //.
  by rewrite divr_gt0 ?density_gt0 ?mulr_gt0 ?ltr0n.
by rewrite /eta mulrC divfK // mulf_neq0 ?pnatr_eq0 ?lt0r_neq0.
Qed.

(** ** A run with delays *)
Section Delayed.

Variables (R : fieldType) (V : lmodType R) (W : finType).
Variables (step : nat -> R) (gradient : W -> nat -> V) (C : W -> nat -> V -> V) (tau : nat) (x0 : V).

Fixpoint kept w t : V :=
  if t is s.+1 then kept w s + step s *: gradient w s - C w s (kept w s + step s *: gradient w s) else 0.
Definition payload w t : V := C w t (kept w t + step t *: gradient w t).
Definition late (w : W) (s : nat) : nat := (s + tau)%N.
Definition position t : V := x0 - \sum_(0 <= s < t) mean ((arriving payload late)^~ s).

Theorem delayed_run :
  [/\ keeps_the_rest step gradient payload kept, applies_arrivals payload late position & causal late].
Proof.
split=> // [t | w s]; last exact: leq_addr.
by rewrite /position big_nat_recr //= opprD addrA.
Qed.

(** A payload is under way for [tau] steps. *)
Lemma late_under_way w t : under_way payload late w t = \sum_(t - tau <= s < t) payload w s.
Proof.
rewrite /under_way [RHS](big_nat_widenl _ 0%N) //; apply: eq_bigl => s.
by rewrite /late leq_subLR addnC.
Qed.

(** The same delay for gradients: what arrives enters the residual, the payloads are applied at once. *)
Fixpoint late_kept w t : V :=
  if t is s.+1 then late_kept w s + arriving (created step gradient) late w s - payload w s else 0.
Definition late_position t : V := x0 - \sum_(0 <= s < t) mean (payload^~ s).

Theorem late_gradients_run :
  [/\ keeps_the_rest_of_arrivals step gradient payload late_kept late, applies_payloads payload late_position
    & causal late].
Proof.
split=> // [t | w s]; last exact: leq_addr.
by rewrite /late_position big_nat_recr //= opprD addrA.
Qed.

End Delayed.
