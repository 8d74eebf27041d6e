(** * Descent with gradients and compressors that draw

On a finite probability space [W] workers minimise [f]. Worker [w] compresses [u = e w t + eta *: g w t] with draws that
are independent of [u]; every fixed vector loses at most [(1 - delta)] of its square in the mean. Gradients may depend
on all that happened: their mean has the expectation [grad (x t)] given [x t] and the mean residual, and the second
moment of each is at most [sigma2]. If [f] is [L]-smooth, its gradient [L]-Lipschitz and [f >= f_min], then

    min_(t < T) E |grad (x t)|^2
      <=  2 (f x0 - f_min) / (eta T) + eta L sigma2 + 4 (1 - delta) eta^2 L^2 sigma2 / delta^2

and, with [A] half the first two terms and [b = eta L sqrt(sigma2) sqrt(1 - delta) / (1 - sqrt(1 - delta))],

    min_(t < T) E |grad (x t)|^2  <=  (b + sqrt (b^2 + 4 A))^2 / 4.

Proof: the virtual iterate [x - mean e] moves by [- eta *: mean g], so [E f] falls at every step by at least
[eta (m - b sqrt m)], where [m = E |grad (x t)|^2], less [eta^2 L sigma2 / 2]. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import feedback residual descent euclidean probability random_residual.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** A sum of [T] terms has one that is at most the mean. *)
Lemma some_at_most (R : realFieldType) (r : nat -> R) (A : R) (T : nat) :
  (0 < T)%N -> \sum_(0 <= t < T) r t <= T%:R * A -> exists2 t, (t < T)%N & r t <= A.
Proof.
case: T => // T _; elim: T => [|T IH] le; first by exists 0%N; move: le; rewrite // big_nat1 mul1r.
have [last_small | last_large] := lerP (r T.+1) A; first by exists T.+1.
have [|t tT small] := IH; last by exists t => //; apply: ltnW.
move: le; rewrite big_nat_recr //= -[T.+2]addn1 natrD mulrDl mul1r => le.
by rewrite -(ler_add2r A); apply: le_trans le; rewrite ler_add2l ltW.
Qed.

Section Square.

Variables (R : rcfType) (m b A : R).
Hypothesis m_ge0 : 0 <= m.
Hypothesis small : m - b * Num.sqrt m <= A.

Let root := Num.sqrt m.

Lemma root_square : root ^+ 2 = m. Proof. exact: sqr_sqrtr. Qed.

(** [m - b sqrt m <= A] is quadratic in [sqrt m], ... *)
Lemma quadratic_root : m <= (b + Num.sqrt (b ^+ 2 + 4%:R * A)) ^+ 2 / 4%:R.
Proof.
have two_gt0 : 0 < 2%:R :> R by rewrite ltr0n.
have far : (2%:R * root - b) ^+ 2 <= b ^+ 2 + 4%:R * A.
  have -> : (2%:R * root - b) ^+ 2 = b ^+ 2 + 4%:R * (root ^+ 2 - b * root) by ring.
  by rewrite root_square ler_add2l ler_wpmul2l ?ler0n.
have double : 2%:R * root <= b + Num.sqrt (b ^+ 2 + 4%:R * A).
  by rewrite -ler_subl_addl; apply: le_trans (ler_norm _) _; rewrite -sqrtr_sqr ler_wsqrtr.
have double_ge0 : 0 <= 2%:R * root by rewrite mulr_ge0 ?sqrtr_ge0 // ltW.
rewrite ler_pdivl_mulr ?ltr0n // -root_square.
have -> : root ^+ 2 * 4%:R = (2%:R * root) ^+ 2 by ring.
by rewrite ler_sqr ?nnegrE // (le_trans double_ge0).
Qed.

(** ... and linear in [m] once the product is split. *)
Lemma linear_root : m <= 2%:R * A + b ^+ 2.
Proof.
have := sqr_ge0 (root - b).
have -> : (root - b) ^+ 2 = 2%:R * (root ^+ 2 - b * root) + b ^+ 2 - root ^+ 2 by ring.
rewrite root_square subr_ge0 => split_product; apply: le_trans split_product _.
by rewrite ler_add2r ler_wpmul2l ?ler0n.
Qed.

End Square.

(** ** A path of virtual iterates

[x - r], parameters less residual, moves by minus a step times [g]. *)
Section Path.

Variables (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (dot : V -> V -> R).
Variables (f : V -> R) (grad : V -> V) (x r g : nat -> Omega -> V) (eta L : R) (T : nat).

Local Notation mean_square := (mean_square P dot).

Definition loses_nothing : Prop := forall t o, x t.+1 o - r t.+1 o = x t o - r t o - eta *: g t o.
Definition unbiased : Prop := forall t, (t < T)%N ->
  conditional_mean P (fun o => (x t o, r t o)) (g t) (fun at_ => grad at_.1).

Hypotheses (prob : probability P) (inner : inner_product dot).

Definition virtual t o : V := x t o - r t o.
Definition slope t : R := mean_square (fun o => grad (x t o)).
Definition height t : R := expect P (fun o => f (virtual t o)).

Lemma slope_ge0 t : 0 <= slope t.
Proof. exact: mean_square_ge0. Qed.

(** The gradient at [x] and that at the virtual iterate. *)
Lemma slopes_agree t b : 0 <= b -> L ^+ 2 * mean_square (r t) <= b ^+ 2 -> lipschitz dot grad L ->
  slope t - b * Num.sqrt (slope t) <= expect P (fun o => dot (grad (virtual t o)) (grad (x t o))).
Proof.
move=> b_ge0 residual_le lip; set product := expect P _.
pose difference o := grad (x t o) - grad (virtual t o).
have productE : product = slope t - expect P (fun o => dot (difference o) (grad (x t o))).
  rewrite /product /slope /probability.mean_square -expectN -expectD; apply: eq_expect => o.
  by rewrite /difference dotDl // dotNl // /descent.square opprD opprK addrA subrr add0r.
rewrite productE ler_add2l ler_opp2; apply: le_trans (ler_norm _) _.
rewrite -(ger0_norm (mulr_ge0 b_ge0 (sqrtr_ge0 _))) -ler_sqr ?nnegrE // !real_normK ?num_real //.
rewrite exprMn sqr_sqrtr ?slope_ge0 //; apply: le_trans (mean_cauchy_schwarz _ _ prob inner) _.
rewrite ler_wpmul2r ?slope_ge0 //; apply: le_trans _ residual_le; rewrite -expectZ.
apply: ler_expect => // o; apply: le_trans (lip _ _) _.
by rewrite /virtual opprB addrCA subrr addr0.
Qed.

(** What follows from [x] and [r] has the product with [g] that it has with the gradient. *)
Lemma unbiased_product t (phi : V -> V -> V) : (t < T)%N -> unbiased ->
  expect P (fun o => dot (phi (x t o) (r t o)) (g t o)) = expect P (fun o => dot (phi (x t o) (r t o)) (grad (x t o))).
Proof. by move=> tT unb; apply: (expect_conditional (fun at_ : V * V => phi at_.1 at_.2) inner (unb t tT)). Qed.

Lemma height_moves t : (t < T)%N -> loses_nothing -> smooth dot f grad L -> unbiased ->
  height t.+1 <= height t - eta * expect P (fun o => dot (grad (virtual t o)) (grad (x t o)))
                 + L / 2%:R * eta ^+ 2 * mean_square (g t).
Proof.
move=> tT path sm unb; rewrite -(unbiased_product (fun y v => grad (y - v)) tT unb).
rewrite -!expectZ -expectN -!expectD; apply: ler_expect => // o.
rewrite /virtual path; apply: le_trans (sm (x t o - r t o) _) _.
rewrite [_ - _ - _ in X in X <= _](_ : _ = - eta *: g t o); last by rewrite addrC addKr scaleNr.
by rewrite dotZr // squareZ // sqrrN mulNr !mulrA.
Qed.

Lemma height_starts x0 : (forall o, x 0%N o = x0) -> (forall o, r 0%N o = 0) -> height 0 = f x0.
Proof.
move=> x_start r_start; rewrite /height (eq_expect P (Y := fun=> f x0)) ?expect_const // => o.
by rewrite /virtual x_start r_start subr0.
Qed.

Lemma height_bounded_below t f_min : bounded_below f f_min -> f_min <= height t.
Proof. by move=> below; rewrite -(expect_const prob f_min); apply: ler_expect => // o; apply: below. Qed.

End Path.

(** Falls of one function. *)
Lemma sum_of_falls (R : realFieldType) (h : nat -> R) (T : nat) : \sum_(0 <= t < T) (h t - h t.+1) = h 0%N - h T.
Proof.
rewrite -[LHS]opprK -sumrN -[RHS]opprB -(telescope_sumr _ (leq0n T)); congr (- _).
by apply: eq_bigr => t _; rewrite opprB.
Qed.

(** ** Workers with bounded second moments *)
Section Descent.

Variables (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (dot : V -> V -> R) (W : finType).
Variables (D : eqType) (f : V -> R) (grad : V -> V) (C : W -> nat -> D -> V -> V) (draw : W -> nat -> Omega -> D).
Variables (x : nat -> Omega -> V) (g e : W -> nat -> Omega -> V) (x0 : V) (eta L delta sigma2 f_min : R) (T : nat).

Local Notation square := (square dot).
Local Notation mean_square := (mean_square P dot).
Local Notation slope := (slope P dot grad x).

Definition push w t o : V := e w t o + eta *: g w t o.
Definition mean_residual t o : V := mean (fun w => e w t o).
Definition mean_push t o : V := mean (fun w => g w t o).

Definition workers_feed_back : Prop :=
  [/\ forall o, x 0%N o = x0, forall w o, e w 0%N o = 0,
      forall w t o, e w t.+1 o = push w t o - C w t (draw w t o) (push w t o)
    & forall t o, x t.+1 o = x t o - mean (fun w => C w t (draw w t o) (push w t o))].
Definition workers_contract : Prop := forall w t v, (t < T)%N ->
  mean_square (fun o => v - C w t (draw w t o) v) <= (1 - delta) * square v.
Definition workers_draw_afresh : Prop := forall w t, (t < T)%N -> independent P (draw w t) (push w t).
Definition second_moments : Prop := forall w t, (t < T)%N -> mean_square (g w t) <= sigma2.
Hypotheses (prob : probability P) (inner : inner_product dot) (workers : (0 < #|W|)%N).
Hypotheses (delta_gt0 : 0 < delta) (delta_le1 : delta <= 1) (sigma2_ge0 : 0 <= sigma2).

(** ** The residual *)

Lemma mean_square_norm (X : Omega -> V) : expect P (fun o => norm dot (X o) ^+ 2) = mean_square X.
Proof. by apply: eq_expect => o; apply: norm_square. Qed.

Theorem workers_residual t : (t <= T)%N ->
  workers_feed_back -> workers_contract -> workers_draw_afresh -> second_moments ->
  mean_square (mean_residual t) <= mean_minkowski_bound delta eta sigma2.
Proof.
move=> tT [_ e0 e_next _] contr fresh moments; apply: mean_square_mean => // w; rewrite -mean_square_norm.
apply: (mean_residual_minkowski (C := C w) (draw := draw w) (g := g w)) => //.
- exact: norm_seminorm.
- by split=> // s o; exact: e_next.
- move=> s st v; rewrite (norm_square inner) (mean_square_norm (fun o => v - C w s (draw w s o) v)).
  exact: contr (leq_trans st tT).
- by move=> s st; apply: fresh (leq_trans st tT).
by move=> s st; rewrite mean_square_norm; apply: moments (leq_trans st tT).
Qed.

(** ** The virtual iterate *)

Lemma workers_lose_nothing : workers_feed_back -> loses_nothing x mean_residual mean_push eta.
Proof.
move=> [_ _ e_next x_next] t o.
exact: (@virtual_iterate_at_once _ _ _ (fun=> eta) (fun w t => g w t o) (fun w t => C w t (draw w t o) (push w t o))
  (fun w t => e w t o) (x^~ o) t (fun w t => e_next w t o) (x_next^~ o)).
Qed.

Hypothesis L_ge0 : 0 <= L.

Lemma second_moment_of_mean t : (t < T)%N -> second_moments -> mean_square (mean_push t) <= sigma2.
Proof. by move=> tT moments; apply: mean_square_mean => // w; apply: moments. Qed.

Hypothesis eta_gt0 : 0 < eta.

Let eta_ge0 : 0 <= eta := ltW eta_gt0.
Hypothesis T_gt0 : (0 < T)%N.

Definition start_and_noise (gap eta L sigma2 : R) (T : nat) : R := gap / (eta * T%:R) + eta * L * sigma2 / 2%:R.

Lemma some_slope_is_small b : 0 <= b ->
  (forall t, (t < T)%N -> L ^+ 2 * mean_square (mean_residual t) <= b ^+ 2) ->
  workers_feed_back -> second_moments -> unbiased P grad x mean_residual mean_push T ->
  smooth dot f grad L -> lipschitz dot grad L -> bounded_below f f_min ->
  exists2 t, (t < T)%N & slope t - b * Num.sqrt (slope t) <= start_and_noise (f x0 - f_min) eta L sigma2 T.
Proof.
move=> b_ge0 residual_le feeds moments unb sm lip below.
pose fall t := slope t - b * Num.sqrt (slope t).
have path := workers_lose_nothing feeds; pose high := height P f x mean_residual.
have moves t : (t < T)%N -> eta * fall t <= high t - high t.+1 + L / 2%:R * eta ^+ 2 * sigma2.
  move=> tT; rewrite -ler_subl_addr ler_subr_addl -ler_subr_addr.
  have weight_ge0 : 0 <= L / 2%:R * eta ^+ 2 by rewrite !mulr_ge0 ?invr_ge0 ?ler0n.
  have := height_moves prob inner tT path sm unb; move/le_trans; apply.
  rewrite opprB addrA [X in _ <= X]addrAC.
  rewrite ler_add ?ler_wpmul2l ?second_moment_of_mean // ler_add2l ler_opp2 ler_wpmul2l //.
  by apply: (slopes_agree _ _ _ (L := L)); rewrite ?residual_le.
have start : high 0%N = f x0.
  have [x_start e0 _ _] := feeds; apply: height_starts => // o.
  by rewrite /mean_residual /mean big1 ?scaler0 // => w _; apply: e0.
apply: some_at_most => //; rewrite -(ler_pmul2l eta_gt0) mulr_sumr.
have T_neq0 : T%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have -> : eta * (T%:R * start_and_noise (f x0 - f_min) eta L sigma2 T) =
          f x0 - f_min + T%:R * (L / 2%:R * eta ^+ 2 * sigma2).
  by rewrite /start_and_noise; field; rewrite T_neq0 lt0r_neq0.
apply: le_trans (ler_sum_nat (G := fun t => high t - high t.+1 + L / 2%:R * eta ^+ 2 * sigma2) _) _.
  by move=> t /andP[_ tT]; apply: moves.
rewrite big_split /= sumr_const_nat subn0 -[X in _ + X]mulr_natl ler_add2r sum_of_falls start.
by rewrite ler_add2l ler_opp2 height_bounded_below.
Qed.

Definition residual_root (eta L delta sigma2 : R) : R :=
  eta * L * Num.sqrt sigma2 * Num.sqrt (1 - delta) / (1 - Num.sqrt (1 - delta)).
Definition smooth_rate_minkowski (gap eta L delta sigma2 : R) (T : nat) : R :=
  (residual_root eta L delta sigma2 +
   Num.sqrt (residual_root eta L delta sigma2 ^+ 2 + 4%:R * start_and_noise gap eta L sigma2 T)) ^+ 2 / 4%:R.
Definition smooth_rate (gap eta L delta sigma2 : R) (T : nat) : R :=
  2%:R * gap / (eta * T%:R) + eta * L * sigma2 + L ^+ 2 * mean_young_bound delta eta sigma2.

Lemma residual_root_square : residual_root eta L delta sigma2 ^+ 2 = L ^+ 2 * mean_minkowski_bound delta eta sigma2.
Proof.
rewrite /residual_root /mean_minkowski_bound expr_div_n !exprMn !sqr_sqrtr ?subr_ge0 // mulrA; congr (_ / _).
by ring.
Qed.

Lemma residual_root_ge0 : 0 <= residual_root eta L delta sigma2.
Proof.
by rewrite divr_ge0 ?mulr_ge0 ?sqrtr_ge0 // subr_ge0 ltW // a_lt1.
Qed.

Theorem smooth_rate_minkowski_holds :
  workers_feed_back -> workers_contract -> workers_draw_afresh -> second_moments ->
  unbiased P grad x mean_residual mean_push T ->
  smooth dot f grad L -> lipschitz dot grad L -> bounded_below f f_min ->
  exists2 t, (t < T)%N &
    mean_square (fun o => grad (x t o)) <= smooth_rate_minkowski (f x0 - f_min) eta L delta sigma2 T.
Proof.
move=> feeds contr fresh moments unb sm lip below.
have [|t tT small] := some_slope_is_small residual_root_ge0 _ feeds moments unb sm lip below.
  by move=> t tT; rewrite residual_root_square ler_wpmul2l ?sqr_ge0 //; apply: workers_residual => //; apply: ltnW.
by exists t => //; apply: quadratic_root small; apply: slope_ge0.
Qed.

Theorem smooth_rate_holds :
  workers_feed_back -> workers_contract -> workers_draw_afresh -> second_moments ->
  unbiased P grad x mean_residual mean_push T ->
  smooth dot f grad L -> lipschitz dot grad L -> bounded_below f f_min ->
  exists2 t, (t < T)%N & mean_square (fun o => grad (x t o)) <= smooth_rate (f x0 - f_min) eta L delta sigma2 T.
Proof.
move=> feeds contr fresh moments unb sm lip below.
have [|t tT small] := some_slope_is_small residual_root_ge0 _ feeds moments unb sm lip below.
  by move=> t tT; rewrite residual_root_square ler_wpmul2l ?sqr_ge0 //; apply: workers_residual => //; apply: ltnW.
exists t => //; apply: le_trans (linear_root _ small) _; first exact: slope_ge0.
have -> : 2%:R * start_and_noise (f x0 - f_min) eta L sigma2 T =
          2%:R * (f x0 - f_min) / (eta * T%:R) + eta * L * sigma2.
  by rewrite /start_and_noise mulrDr mulrA; congr (_ + _); field.
by rewrite /smooth_rate ler_add2l residual_root_square ler_wpmul2l ?sqr_ge0 //; apply: mean_minkowski_le_young.
Qed.

End Descent.
