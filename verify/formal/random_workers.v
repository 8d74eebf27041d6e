(** * Descent of workers with functions of their own

As in [random_variance], with [n] workers, each with a gradient of expectation [local w (x t)] given [x t] and all
residuals, of bounded variance, and uncorrelated with the others; [grad] is the mean of the [local w], from which they
differ by at most [zeta2] in mean square on the way. For every [weight > 0] with [h < 1],

    min_(t < T) E |grad (x t)|^2  <=  ((f x0 - f_min) / (eta T) + eta L N) / (1 - h),
    N = variance / (2 n) + weight (1 - delta) (variance + zeta2 / delta),
    h = (eta L / delta) (1 - delta / 2 + weight (1 - delta) + 1 / (4 weight)).

Proof: [E f (x - mean e) + weight L E mean |e|^2] falls. The residuals are split into their mean, which pays for the
gradient as with one worker, and the deviations from it, which pay for the differences of the functions. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import feedback residual descent euclidean probability random_residual random_descent.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** One step, as numbers

[p], [r] and [q] are the roots of [E |mean e|^2], of the mean square of the deviations and of [E |grad x|^2]; [h] is
[E f], [z] is the root of [zeta2]; a prime is the next step. *)
Section Numbers.

Variables (R : rcfType) (eta L delta weight variance z n : R).

Definition workers_share (eta L delta weight : R) : R :=
  eta * L * (1 - delta / 2%:R + weight * (1 - delta) + 1 / (4%:R * weight)) / delta.
Definition workers_noise (delta weight variance zeta2 n : R) : R :=
  variance / (2%:R * n) + weight * (1 - delta) * (variance + zeta2 / delta).

Hypotheses (delta_gt0 : 0 < delta) (L_ge0 : 0 <= L) (weight_gt0 : 0 < weight) (n_gt0 : 0 < n).

Lemma workers_numbers_fall (h h' p q r kept' : R) :
  h' <= h - eta * (q ^+ 2 - L * p * q) + L / 2%:R * eta ^+ 2 * (q ^+ 2 + variance / n) ->
  kept' <= (1 - delta) * ((p + eta * q) ^+ 2 + (r + eta * z) ^+ 2 + eta ^+ 2 * variance) ->
  eta * (1 - workers_share eta L delta weight) * q ^+ 2 <=
  h + weight * L * (p ^+ 2 + r ^+ 2) - (h' + weight * L * kept')
  + eta ^+ 2 * L * workers_noise delta weight variance (z ^+ 2) n.
Proof.
move=> moves kept; have factor_ge0 : 0 <= weight * L by rewrite mulr_ge0 // ltW.
have lost := ler_add moves (ler_wpmul2l factor_ge0 kept); rewrite -subr_ge0 in lost; rewrite -subr_ge0.
pose mean_part := p - eta * q * (1 + 2%:R * weight * (1 - delta)) / (2%:R * weight * delta).
pose other_part := r - (1 - delta) * eta * z / delta.
have squares_ge0 : 0 <= weight * L * delta * (mean_part ^+ 2 + other_part ^+ 2).
  by rewrite mulr_ge0 ?addr_ge0 ?sqr_ge0 // mulr_ge0 // ltW.
apply: le_trans (addr_ge0 lost squares_ge0) _; rewrite le_eqVlt; apply/orP; left; apply/eqP.
rewrite /mean_part /other_part /workers_share /workers_noise; field.
by rewrite !lt0r_neq0.
Qed.

End Numbers.

(** ** Outcomes and workers together *)
Section Together.

Variables (R : realFieldType) (Omega W : finType) (P : Omega -> R).
Hypotheses (prob : probability P) (workers : (0 < #|W|)%N).

Definition with_worker (ow : Omega * W) : R := P ow.1 * #|W|%:R^-1.

Lemma expect_with_worker (X : Omega -> W -> R) :
  expect with_worker (fun ow => X ow.1 ow.2) = expect P (fun o => mean_value (X o)).
Proof.
rewrite /expect -(pair_bigA _ (fun o w => with_worker (o, w) * X o w)) /=; apply: eq_bigr => o _.
by rewrite /mean_value /with_worker mulrA mulr_sumr.
Qed.

Lemma expect_mean_value (X : W -> Omega -> R) :
  expect P (fun o => mean_value (X^~ o)) = mean_value (fun w => expect P (X w)).
Proof. by rewrite /mean_value expectZ expect_sum. Qed.

Lemma with_worker_prob : probability with_worker.
Proof.
have [P_ge0 _] := prob; split=> [ow|]; first by rewrite mulr_ge0 ?invr_ge0 ?ler0n.
have := expect_with_worker (fun _ _ => 1); rewrite /expect (eq_bigr with_worker) => [->|ow _]; last exact: mulr1.
rewrite -[RHS](expect_const prob 1); apply: eq_expect => o.
exact: mean_value_const.
Qed.

End Together.

Section Workers.

Variables (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (dot : V -> V -> R) (W : finType).
Variables (D : eqType) (f : V -> R) (grad : V -> V) (local : W -> V -> V) (C : W -> nat -> D -> V -> V).
Variables (draw : W -> nat -> Omega -> D) (x : nat -> Omega -> V) (g e : W -> nat -> Omega -> V) (x0 : V).
Variables (eta L delta weight variance zeta2 f_min : R) (T : nat).

Local Notation square := (square dot).
Local Notation mean_square := (mean_square P dot).
Local Notation slope := (slope P dot grad x).
Local Notation push := (push g e eta).
Local Notation mean_residual := (mean_residual e).
Local Notation mean_push := (mean_push g).
Local Notation joint := (with_worker P).

Definition residuals t o : {ffun W -> V} := [ffun w => e w t o].
Definition noise w t o : V := g w t o - local w (x t o).
Definition unbiased_workers : Prop := forall w t, (t < T)%N ->
  conditional_mean P (fun o => (x t o, residuals t o)) (g w t) (fun at_ => local w at_.1).
Definition bounded_variances : Prop := forall w t, (t < T)%N -> mean_square (noise w t) <= variance.
Definition uncorrelated : Prop := forall v w t, (t < T)%N -> v != w ->
  expect P (fun o => dot (noise v t o) (noise w t o)) = 0.
Definition heterogeneous_on_the_way : Prop := forall t o, (t < T)%N ->
  mean_value (fun w => square (local w (x t o) - grad (x t o))) <= zeta2.

Hypotheses (prob : probability P) (inner : inner_product dot) (workers : (0 < #|W|)%N).
Hypotheses (delta_gt0 : 0 < delta) (delta_le1 : delta <= 1) (eta_gt0 : 0 < eta) (L_ge0 : 0 <= L) (T_gt0 : (0 < T)%N).
Hypotheses (weight_gt0 : 0 < weight) (zeta2_ge0 : 0 <= zeta2).

(** ** Gradients *)

Lemma mean_is_unbiased : mean_gradient grad local -> unbiased_workers -> unbiased P grad x mean_residual mean_push T.
Proof.
move=> gradE unb t tT; pose F (at_ : V * {ffun W -> V}) := (at_.1, mean (fun w => at_.2 w)).
apply: (@eq_conditional_mean _ _ _ _ _ (fun o => F (x t o, residuals t o)) _ _ (mean_push t)) => // [o|].
  by rewrite /F /=; congr (_, _); apply: eq_mean => w; rewrite ffunE.
apply: coarser_mean => s /=; rewrite gradE /random_descent.mean_push /mean scalerA mulrC -scalerA.
rewrite (scaler_sumr _ _ _ (fun w => local w s.1)) -(eq_bigr _ (fun w _ => unb w t tT s)) exchange_big /= scaler_sumr.
by apply: eq_bigr => o _; rewrite scalerA mulrC -scalerA scaler_sumr.
Qed.

Lemma noise_orthogonal w t (phi : V -> {ffun W -> V} -> V) : (t < T)%N -> unbiased_workers ->
  expect P (fun o => dot (phi (x t o) (residuals t o)) (noise w t o)) = 0.
Proof.
move=> tT unb; pose known o := phi (x t o) (residuals t o).
transitivity (expect P (fun o => dot (known o) (g w t o)) - expect P (fun o => dot (known o) (local w (x t o)))).
  by rewrite -expectN -expectD; apply: eq_expect => o; rewrite /noise dotDr // dotNr.
by rewrite (expect_conditional (fun at_ : V * {ffun W -> V} => phi at_.1 at_.2) inner (unb w t tT)) subrr.
Qed.

Lemma noise_of_mean t : (t < T)%N -> uncorrelated -> bounded_variances ->
  mean_square (fun o => mean (fun w => noise w t o)) <= variance / #|W|%:R.
Proof.
move=> tT uncorr var; pose product v w := expect P (fun o => dot (noise v t o) (noise w t o)).
have -> : mean_square (fun o => mean (fun w => noise w t o)) = mean_value (fun v => mean_value (product v)).
  transitivity (expect P (fun o => mean_value (fun v => mean_value (fun w => dot (noise v t o) (noise w t o))))).
    apply: eq_expect => o; rewrite /descent.square dot_meanl //; congr (_ * _); apply: eq_bigr => v _.
    by rewrite dotC // dot_meanl //; congr (_ * _); apply: eq_bigr => w _; apply: dotC.
  rewrite (expect_mean_value P (fun v o => mean_value (fun w => dot (noise v t o) (noise w t o)))).
  by congr (_ * _); apply: eq_bigr => v _; apply: (expect_mean_value P (fun w o => dot (noise v t o) (noise w t o))).
rewrite -[X in _ <= X](mean_value_const workers); apply: ler_mean_value => v.
rewrite /mean_value (bigD1 v) //= big1 ?addr0 => [|w wv]; last by rewrite /product uncorr // eq_sym.
by rewrite mulrC ler_wpmul2r ?invr_ge0 ?ler0n //; apply: var.
Qed.

Lemma mean_push_square t : (t < T)%N ->
  mean_gradient grad local -> unbiased_workers -> uncorrelated -> bounded_variances ->
  mean_square (mean_push t) <= slope t + variance / #|W|%:R.
Proof.
move=> tT gradE unb uncorr var; pose others o := mean (fun w => noise w t o).
have split_push o : mean_push t o = grad (x t o) + others o.
  by rewrite gradE -meanD; apply: eq_mean => w; rewrite /noise addrC subrK.
have crossed : expect P (fun o => dot (grad (x t o)) (others o)) = 0.
  transitivity (expect P (fun o => mean_value (fun w => dot (grad (x t o)) (noise w t o)))).
    by apply: eq_expect => o; rewrite dotC // dot_meanl //; congr (_ * _); apply: eq_bigr => w _; apply: dotC.
  rewrite (expect_mean_value P (fun w o => dot (grad (x t o)) (noise w t o))) /mean_value big1 ?mulr0 // => w _.
  exact: (noise_orthogonal w (fun y _ => grad y) tT unb).
have -> : mean_square (mean_push t) =
          slope t + 2%:R * expect P (fun o => dot (grad (x t o)) (others o)) + mean_square others.
  rewrite /random_descent.slope /probability.mean_square -expectZ -!expectD; apply: eq_expect => o.
  by rewrite split_push squareD.
by rewrite crossed mulr0 addr0 ler_add2l; apply: noise_of_mean.
Qed.

(** ** Residuals *)

Definition kept t : R := expect P (fun o => mean_value (fun w => square (e w t o))).
Definition deviation t (ow : Omega * W) : V := e ow.2 t ow.1 - mean_residual t ow.1.

Let mean_root t := Num.sqrt (mean_square (mean_residual t)).
Let other_root t := Num.sqrt (probability.mean_square joint dot (deviation t)).

Lemma joint_square_ge0 (X : Omega * W -> V) : 0 <= probability.mean_square joint dot X.
Proof. by apply: mean_square_ge0 => //; apply: with_worker_prob. Qed.

(** The mean square over workers is that of the mean and that of the deviations. *)
Lemma square_splits (Y : W -> Omega -> V) :
  expect P (fun o => mean_value (fun w => square (Y w o))) =
  mean_square (fun o => mean (Y^~ o)) +
  probability.mean_square joint dot (fun ow => Y ow.2 ow.1 - mean (Y^~ ow.1)).
Proof.
rewrite /probability.mean_square (expect_with_worker P (fun o w => square (Y w o - mean (Y^~ o)))) -expectD.
by apply: eq_expect => o; rewrite spread.
Qed.

Lemma kept_splits t : kept t = mean_root t ^+ 2 + other_root t ^+ 2.
Proof. by rewrite /kept square_splits !sqr_sqrtr ?joint_square_ge0 ?mean_square_ge0. Qed.

Lemma push_splits w t : (t < T)%N -> unbiased_workers ->
  mean_square (push w t) = mean_square (fun o => e w t o + eta *: local w (x t o)) + eta ^+ 2 * mean_square (noise w t).
Proof.
move=> tT unb; pose known o := e w t o + eta *: local w (x t o).
have crossed : expect P (fun o => dot (known o) (noise w t o)) = 0.
  rewrite -[RHS](noise_orthogonal w (fun y (v : {ffun W -> V}) => v w + eta *: local w y) tT unb).
  by apply: eq_expect => o; rewrite ffunE.
transitivity (mean_square known + 2%:R * eta * expect P (fun o => dot (known o) (noise w t o)) +
              eta ^+ 2 * mean_square (noise w t)); last by rewrite crossed mulr0 addr0.
rewrite /probability.mean_square -!expectZ -!expectD; apply: eq_expect => o.
have -> : push w t o = known o + eta *: noise w t o.
  by rewrite /known /random_descent.push -addrA -scalerDr /noise [local w _ + _]addrC subrK.
by rewrite squareD // dotZr // squareZ // mulrA.
Qed.

Lemma push_square t : (t < T)%N ->
  mean_gradient grad local -> unbiased_workers -> bounded_variances -> heterogeneous_on_the_way ->
  expect P (fun o => mean_value (fun w => square (push w t o))) <=
  (mean_root t + eta * Num.sqrt (slope t)) ^+ 2 + (other_root t + eta * Num.sqrt zeta2) ^+ 2 + eta ^+ 2 * variance.
Proof.
move=> tT gradE unb var hetero; pose known w o := e w t o + eta *: local w (x t o).
have eta_ge0 := ltW eta_gt0.
rewrite (expect_mean_value P (fun w o => square (push w t o))).
apply: (@le_trans _ _ (mean_value (fun w => mean_square (known w) + eta ^+ 2 * variance))).
  apply: ler_mean_value => w; rewrite -/(mean_square (push w t)) push_splits // ler_add2l ler_wpmul2l ?sqr_ge0 //.
  exact: var.
rewrite mean_valueD mean_value_const // ler_add2r -(expect_mean_value P (fun w o => square (known w o))) square_splits.
have mean_known o : mean (known^~ o) = mean_residual t o + eta *: grad (x t o).
  by rewrite /known meanD meanZ -gradE.
apply: ler_add.
  have -> : mean_square (fun o => mean (known^~ o)) = mean_square (fun o => mean_residual t o + eta *: grad (x t o)).
    by apply: eq_expect => o; rewrite mean_known.
  exact: (mean_square_sum _ _ prob inner eta_ge0).
pose spread_of (ow : Omega * W) := local ow.2 (x t ow.1) - grad (x t ow.1).
apply: (@le_trans _ _ (probability.mean_square joint dot (fun ow => deviation t ow + eta *: spread_of ow))).
  rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_expect => ow; congr (square _).
  by rewrite mean_known /known /deviation /spread_of scalerBr opprD addrACA.
apply: le_trans (mean_square_sum _ _ (with_worker_prob prob workers) inner eta_ge0) _.
have spread_le : probability.mean_square joint dot spread_of <= zeta2.
  rewrite /probability.mean_square (expect_with_worker P (fun o w => square (local w (x t o) - grad (x t o)))).
  by rewrite -[X in _ <= X](expect_const prob); apply: ler_expect => // o; apply: hetero.
have roots_ge0 u v : 0 <= Num.sqrt u + eta * Num.sqrt v by rewrite addr_ge0 ?mulr_ge0 ?sqrtr_ge0.
by rewrite ler_sqr ?nnegrE ?roots_ge0 // ler_add2l ler_wpmul2l // ler_wsqrtr.
Qed.

Lemma kept_next t : (t < T)%N -> workers_feed_back C draw x g e x0 eta ->
  workers_contract P dot C draw delta T -> workers_draw_afresh P draw g e eta T ->
  kept t.+1 <= (1 - delta) * expect P (fun o => mean_value (fun w => square (push w t o))).
Proof.
move=> tT [_ _ e_next _] contr fresh.
rewrite /kept (expect_mean_value P (fun w o => square (e w t.+1 o))).
rewrite (expect_mean_value P (fun w o => square (push w t o))) -mean_valueZ; apply: ler_mean_value => w.
have normE (X : Omega -> V) : expect P (fun o => square (X o)) = expect P (fun o => norm dot (X o) ^+ 2).
  by apply: eq_expect => o; rewrite norm_square.
have contr_t : contracts_in_mean P (norm dot) (C w t) (draw w t) delta.
  by move=> v; rewrite norm_square // -(normE (fun o => v - C w t (draw w t o) v)); apply: contr.
rewrite !normE (eq_expect P (Y := fun o => norm dot (push w t o - C w t (draw w t o) (push w t o)) ^+ 2)) => [|o].
  exact: contracts_unknowing prob contr_t (fresh w t tT).
by rewrite e_next.
Qed.

(** ** All steps *)

Definition workers_rate (gap eta L delta weight variance zeta2 : R) (T n : nat) : R :=
  (gap / (eta * T%:R) + eta * L * workers_noise delta weight variance zeta2 n%:R) /
  (1 - workers_share eta L delta weight).

Theorem workers_rate_holds :
  workers_share eta L delta weight < 1 ->
  workers_feed_back C draw x g e x0 eta -> workers_contract P dot C draw delta T ->
  workers_draw_afresh P draw g e eta T -> bounded_variances -> uncorrelated -> unbiased_workers ->
  mean_gradient grad local -> heterogeneous_on_the_way ->
  smooth dot f grad L -> lipschitz dot grad L -> bounded_below f f_min ->
  exists2 t, (t < T)%N &
    mean_square (fun o => grad (x t o)) <= workers_rate (f x0 - f_min) eta L delta weight variance zeta2 T #|W|.
Proof.
move=> small feeds contr fresh var uncorr unb gradE hetero sm lip below.
pose share := workers_share eta L delta weight; pose loss := workers_noise delta weight variance zeta2 #|W|%:R.
pose high t := height P f x mean_residual t + weight * L * kept t.
have eta_ge0 := ltW eta_gt0; have room : 0 < 1 - share by rewrite subr_gt0.
have n_gt0 : 0 < #|W|%:R :> R by rewrite ltr0n.
have moves t : (t < T)%N -> eta * (1 - share) * slope t <= high t - high t.+1 + eta ^+ 2 * L * loss.
  move=> tT; have slope_root := sqr_sqrtr (slope_ge0 grad x prob inner t).
  rewrite -[X in _ * X <= _]slope_root /high (kept_splits t) /loss -(sqr_sqrtr zeta2_ge0).
  apply: workers_numbers_fall => //.
  - have := height_moves prob inner tT (workers_lose_nothing feeds) sm (mean_is_unbiased gradE unb).
    move/le_trans; apply; rewrite slope_root ler_add ?ler_wpmul2l ?mulr_ge0 ?exprn_ge0 ?invr_ge0 ?ler0n //; last first.
      exact: mean_push_square.
    rewrite ler_add2l ler_opp2 ler_wpmul2l //.
    apply: (slopes_agree x prob inner) _ lip; first by rewrite mulr_ge0 ?sqrtr_ge0.
    by rewrite exprMn sqr_sqrtr ?mean_square_ge0.
  - apply: le_trans (kept_next tT feeds contr fresh) _; rewrite ler_wpmul2l ?subr_ge0 //; apply: push_square => //.
have start : high 0%N = f x0.
  have [x_start e0 _ _] := feeds; rewrite /high (height_starts f prob x_start) => [|o].
    rewrite /kept (eq_expect P (Y := fun=> 0)) ?expect_const ?mulr0 ?addr0 // => o.
    by rewrite /mean_value big1 ?mulr0 // => w _; rewrite e0 /square (dot0l inner).
  by rewrite /random_descent.mean_residual /mean big1 ?scaler0 // => w _; apply: e0.
have finish : f_min <= high T.
  apply: le_trans (height_bounded_below x mean_residual prob T below) _; rewrite ler_addl.
  rewrite mulr_ge0 ?mulr_ge0 ?(ltW weight_gt0) //; apply: expect_ge0 => // o; apply: mean_value_ge0 => w.
  exact: square_ge0.
have weight_of_sum : 0 < eta * (1 - share) by rewrite mulr_gt0.
apply: some_at_most => //; rewrite -(ler_pmul2l weight_of_sum) mulr_sumr.
have T_neq0 : T%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have -> : eta * (1 - share) * (T%:R * workers_rate (f x0 - f_min) eta L delta weight variance zeta2 T #|W|) =
          f x0 - f_min + T%:R * (eta ^+ 2 * L * loss).
  rewrite /workers_rate -/share -/loss; field.
  by rewrite T_neq0 !lt0r_neq0.
apply: le_trans (ler_sum_nat (G := fun t => high t - high t.+1 + eta ^+ 2 * L * loss) _) _.
  by move=> t /andP[_ tT]; apply: moves.
rewrite big_split /= sumr_const_nat subn0 -[X in _ + X]mulr_natl ler_add2r sum_of_falls start.
by rewrite ler_add2l ler_opp2.
Qed.

End Workers.
