(** * Descent with gradients of bounded variance

One worker with error feedback, a compressor that draws as in [random_descent], and gradients with expectation
[grad (x t)] given [x t] and [e t], whose variance alone is bounded: [E |g t - grad (x t)|^2 <= variance]. With
[a = sqrt (1 - delta)] and a step below [2 (1 - a) / (L (1 + a))],

    min_(t < T) E |grad (x t)|^2
      <=  ((f x0 - f_min) / (eta T) + eta L variance (1 + a) / 2)  /  (1 - eta L (1 + a) / (2 (1 - a))).

Proof: [E f (x - e) + (L / (2 a)) E |e|^2] falls; for [a = 0] there is no residual, and [E f] falls by itself. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import feedback residual descent euclidean probability random_residual random_descent.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** One step, as numbers

[p] and [q] are the roots of [E |e|^2] and [E |grad x|^2], [h] is [E f]; a prime is the next step. *)
Section Numbers.

Variables (R : rcfType) (eta L delta variance : R).

Let a := Num.sqrt (1 - delta).

Definition step_share (eta L delta : R) : R :=
  eta * L * (1 + Num.sqrt (1 - delta)) / (2%:R * (1 - Num.sqrt (1 - delta))).
Definition noise_of_step (eta L delta variance : R) : R :=
  eta ^+ 2 * L * variance * (1 + Num.sqrt (1 - delta)) / 2%:R.

Hypotheses (delta_gt0 : 0 < delta) (delta_le1 : delta <= 1) (eta_ge0 : 0 <= eta) (L_ge0 : 0 <= L).

Lemma numbers_fall (h h' p q kept' : R) : 0 <= p -> 0 <= kept' ->
  h' <= h - eta * (q ^+ 2 - L * p * q) + L / 2%:R * eta ^+ 2 * (q ^+ 2 + variance) ->
  kept' <= a ^+ 2 * ((p + eta * q) ^+ 2 + eta ^+ 2 * variance) -> (a = 0 -> p = 0) ->
  eta * (1 - step_share eta L delta) * q ^+ 2 <=
  h + L / (2%:R * a) * p ^+ 2 - (h' + L / (2%:R * a) * kept') + noise_of_step eta L delta variance.
Proof.
move=> p_ge0 kept_ge0 moves kept root0; have a_nonneg : 0 <= a := a_ge0 delta.
have room : 0 < 1 - a by rewrite subr_gt0 a_lt1.
have two_gt0 : 0 < 2%:R :> R by rewrite ltr0n.
rewrite /step_share /noise_of_step -/a.
have [a0 | a_neq0] := eqVneq a 0.
  rewrite root0 // a0 in moves *.
  rewrite mulr0 invr0 !mulr0 !mul0r !addr0 subr0 !mulr1; rewrite -subr_ge0 in moves; rewrite -subr_ge0.
  apply: le_trans moves _; rewrite le_eqVlt; apply/orP; left; apply/eqP.
  by field.
have a_gt0 : 0 < a by rewrite lt_neqAle eq_sym a_neq0.
have weight_ge0 : 0 <= L / (2%:R * a) by rewrite divr_ge0 ?mulr_ge0 ?ler0n.
have lost := ler_add moves (ler_wpmul2l weight_ge0 kept); rewrite -subr_ge0.
have square_ge0 : 0 <= L * (1 + a) / (2%:R * a * (1 - a)) * ((1 - a) * p - a * eta * q) ^+ 2.
  apply: mulr_ge0; last exact: sqr_ge0.
  apply: divr_ge0; apply: mulr_ge0; rewrite ?(ltW room) ?addr_ge0 ?ler01 //.
  by rewrite mulr_ge0 ?ler0n.
rewrite -subr_ge0 in lost; apply: le_trans (addr_ge0 lost square_ge0) _.
rewrite le_eqVlt; apply/orP; left; apply/eqP; field.
by rewrite a_neq0 lt0r_neq0.
Qed.

End Numbers.

Section Variance.

Variables (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (dot : V -> V -> R) (D : eqType).
Variables (f : V -> R) (grad : V -> V) (C : nat -> D -> V -> V) (draw : nat -> Omega -> D).
Variables (x g e : nat -> Omega -> V) (x0 : V) (eta L delta variance f_min : R) (T : nat).

Local Notation square := (square dot).
Local Notation mean_square := (mean_square P dot).
Local Notation slope := (slope P dot grad x).
Local Notation push := (corrected g e eta).

Definition feeds_back_from : Prop :=
  [/\ forall o, x 0%N o = x0, forall o, e 0%N o = 0, forall t o, e t.+1 o = push t o - C t (draw t o) (push t o)
    & forall t o, x t.+1 o = x t o - C t (draw t o) (push t o)].
Definition contracts_in_square : Prop := forall t v, (t < T)%N ->
  mean_square (fun o => v - C t (draw t o) v) <= (1 - delta) * square v.
Definition draws_afresh : Prop := forall t, (t < T)%N -> independent P (draw t) (push t).
Definition noise t o : V := g t o - grad (x t o).
Definition bounded_variance : Prop := forall t, (t < T)%N -> mean_square (noise t) <= variance.

Hypotheses (prob : probability P) (inner : inner_product dot).
Hypotheses (delta_gt0 : 0 < delta) (delta_le1 : delta <= 1) (eta_gt0 : 0 < eta) (L_ge0 : 0 <= L) (T_gt0 : (0 < T)%N).

Let a := Num.sqrt (1 - delta).
Let kept t := mean_square (e t).

Lemma kept_ge0 t : 0 <= kept t.
Proof. exact: mean_square_ge0. Qed.

Lemma one_worker_loses_nothing : feeds_back_from -> loses_nothing x e g eta.
Proof.
move=> [_ _ e_next x_next] t o; rewrite e_next x_next opprB addrA subrK /corrected.
by rewrite opprD addrA.
Qed.

(** The noise has no part in what follows from [x] and [e]. *)
Lemma noise_orthogonal t (phi : V -> V -> V) : (t < T)%N -> unbiased P grad x e g T ->
  expect P (fun o => dot (phi (x t o) (e t o)) (noise t o)) = 0.
Proof.
move=> tT unb; transitivity (expect P (fun o => dot (phi (x t o) (e t o)) (g t o)) -
                             expect P (fun o => dot (phi (x t o) (e t o)) (grad (x t o)))).
  by rewrite -expectN -expectD; apply: eq_expect => o; rewrite /noise dotDr // dotNr.
by rewrite (unbiased_product inner phi tT unb) subrr.
Qed.

Lemma square_of_sum t c (phi : V -> V -> V) : (t < T)%N -> unbiased P grad x e g T ->
  mean_square (fun o => phi (x t o) (e t o) + c *: noise t o) =
  mean_square (fun o => phi (x t o) (e t o)) + c ^+ 2 * mean_square (noise t).
Proof.
move=> tT unb; rewrite /probability.mean_square -expectZ -[RHS]addr0.
rewrite -(mulr0 (2%:R * c)) -(noise_orthogonal phi tT unb) -expectZ -!expectD.
by apply: eq_expect => o; rewrite squareD // dotZr // squareZ //; ring.
Qed.

Lemma gradient_square t : (t < T)%N -> unbiased P grad x e g T -> bounded_variance ->
  mean_square (g t) <= slope t + variance.
Proof.
move=> tT unb var; have := square_of_sum 1 (fun y _ => grad y) tT unb; rewrite expr1n mul1r.
rewrite [X in X = _](_ : _ = mean_square (g t)) => [->|]; first by rewrite ler_add2l; apply: var.
by apply: eq_expect => o; rewrite scale1r /noise addrC subrK.
Qed.

Lemma push_square t : (t < T)%N -> unbiased P grad x e g T -> bounded_variance ->
  mean_square (push t) <= (Num.sqrt (kept t) + eta * Num.sqrt (slope t)) ^+ 2 + eta ^+ 2 * variance.
Proof.
move=> tT unb var; have := square_of_sum eta (fun y v => v + eta *: grad y) tT unb.
rewrite [X in X = _](_ : _ = mean_square (push t)) => [->|]; last first.
  by apply: eq_expect => o; rewrite -addrA -scalerDr /noise [grad _ + _]addrC subrK.
rewrite ler_add ?ler_wpmul2l ?sqr_ge0 //; last exact: var.
exact: (mean_square_sum _ _ prob inner (ltW eta_gt0)).
Qed.

Lemma kept_next t : (t < T)%N -> feeds_back_from -> contracts_in_square -> draws_afresh ->
  kept t.+1 <= a ^+ 2 * mean_square (push t).
Proof.
move=> tT [_ _ e_next _] contr fresh; rewrite a_sqr //.
have normE (X : Omega -> V) : mean_square X = expect P (fun o => norm dot (X o) ^+ 2).
  by apply: eq_expect => o; rewrite norm_square.
have contr_t : contracts_in_mean P (norm dot) (C t) (draw t) delta.
  by move=> v; rewrite norm_square // -(normE (fun o => v - C t (draw t o) v)); apply: contr.
rewrite /kept (normE (e t.+1)) (normE (push t)).
rewrite (eq_expect P (Y := fun o => norm dot (push t o - C t (draw t o) (push t o)) ^+ 2)) => [|o].
  exact: contracts_unknowing prob contr_t (fresh t tT).
by rewrite e_next.
Qed.

Lemma nothing_kept t : (t <= T)%N -> a = 0 -> feeds_back_from -> contracts_in_square -> draws_afresh -> kept t = 0.
Proof.
move=> tT a0 feeds contr fresh; apply/eqP; rewrite eq_le kept_ge0 andbT; case: t tT => [|t] tT.
  have [_ e0 _ _] := feeds; rewrite /kept /probability.mean_square (eq_expect P (Y := fun=> 0)) => [|o].
    by rewrite expect_const.
  by rewrite e0 /square (dot0l inner).
by have := kept_next tT feeds contr fresh; rewrite a0 expr0n mul0r.
Qed.

Definition variance_rate (gap eta L delta variance : R) (T : nat) : R :=
  (gap / (eta * T%:R) + eta * L * variance * (1 + Num.sqrt (1 - delta)) / 2%:R) / (1 - step_share eta L delta).

Theorem variance_rate_holds :
  step_share eta L delta < 1 ->
  feeds_back_from -> contracts_in_square -> draws_afresh -> bounded_variance -> unbiased P grad x e g T ->
  smooth dot f grad L -> lipschitz dot grad L -> bounded_below f f_min ->
  exists2 t, (t < T)%N & mean_square (fun o => grad (x t o)) <= variance_rate (f x0 - f_min) eta L delta variance T.
Proof.
move=> small feeds contr fresh var unb sm lip below; pose share := step_share eta L delta.
pose high t := height P f x e t + L / (2%:R * a) * kept t.
have eta_ge0 := ltW eta_gt0; have room : 0 < 1 - share by rewrite subr_gt0.
have moves t : (t < T)%N ->
    eta * (1 - share) * slope t <= high t - high t.+1 + noise_of_step eta L delta variance.
  move=> tT; have kept_root := sqr_sqrtr (kept_ge0 t); have slope_root := sqr_sqrtr (slope_ge0 grad x prob inner t).
  rewrite -[X in _ * X <= _]slope_root /high -{1}kept_root.
  apply: numbers_fall => //; rewrite ?sqrtr_ge0 ?kept_ge0 //.
  - have := height_moves prob inner tT (one_worker_loses_nothing feeds) sm unb; move/le_trans; apply.
    rewrite slope_root ler_add ?ler_wpmul2l ?divr_ge0 ?mulr_ge0 ?exprn_ge0 ?invr_ge0 ?ler0n //; last first.
      exact: gradient_square.
    rewrite ler_add2l ler_opp2 ler_wpmul2l //.
    apply: (slopes_agree x prob inner) _ lip; first by rewrite mulr_ge0 ?sqrtr_ge0.
    by rewrite exprMn kept_root.
  - apply: le_trans (kept_next tT feeds contr fresh) _; rewrite ler_wpmul2l ?sqr_ge0 //; apply: push_square => //.
  by move=> a0; rewrite (nothing_kept (ltnW tT) a0 feeds contr fresh) sqrtr0.
have start : high 0%N = f x0.
  have [x_start e0 _ _] := feeds; rewrite /high (height_starts f prob x_start e0).
  suff -> : kept 0 = 0 by rewrite mulr0 addr0.
  rewrite /kept /probability.mean_square (eq_expect P (Y := fun=> 0)) ?expect_const // => o.
  by rewrite e0 /square (dot0l inner).
have finish : f_min <= high T.
  apply: le_trans (height_bounded_below x e prob T below) _; rewrite ler_addl mulr_ge0 ?kept_ge0 //.
  by rewrite divr_ge0 ?mulr_ge0 ?ler0n ?sqrtr_ge0.
have weight_gt0 : 0 < eta * (1 - share) by rewrite mulr_gt0.
apply: some_at_most => //; rewrite -(ler_pmul2l weight_gt0) mulr_sumr.
have T_neq0 : T%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have -> : eta * (1 - share) * (T%:R * variance_rate (f x0 - f_min) eta L delta variance T) =
          f x0 - f_min + T%:R * noise_of_step eta L delta variance.
  rewrite /variance_rate /noise_of_step -/share; field.
  by rewrite T_neq0 !lt0r_neq0.
apply: le_trans (ler_sum_nat (G := fun t => high t - high t.+1 + noise_of_step eta L delta variance) _) _.
  by move=> t /andP[_ tT]; apply: moves.
rewrite big_split /= sumr_const_nat subn0 -[X in _ + X]mulr_natl ler_add2r sum_of_falls start.
by rewrite ler_add2l ler_opp2.
Qed.

End Variance.
