(** * Descent with error feedback, without bounded gradients

[W] workers minimise [f], whose gradient is the mean of the local gradients. Each worker compresses its corrected
gradient [u = e + eta *: g] with an error of at most [(1 - delta)] times the square of [u], sends the payload and keeps
the rest; the parameters move by minus the mean of the payloads. If [f] is [L]-smooth with values of at least [f_min],
the local gradients differ from their mean by at most [zeta2] in mean square, and [4 L eta <= delta], then for every [T]

    (eta / 4) sum_(t < T) |grad f (x t)|^2  <=  f (x 0) - f_min + T (2 eta^3 L^2 / delta^2) zeta2.

Proof: [f (x - mean e) + (eta L^2 / delta) mean |e|^2] falls by a quarter of [eta |grad f (x t)|^2], less the last term.
With one worker, or equal ones, [zeta2 = 0]. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import feedback.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Inner products *)
Section InnerProduct.

Variables (R : realFieldType) (V : lmodType R) (dot : V -> V -> R).

Definition inner_product : Prop :=
  [/\ forall x y, dot x y = dot y x,
      forall x y z, dot (x + y) z = dot x z + dot y z,
      forall (a : R) x y, dot (a *: x) y = a * dot x y
    & forall x, 0 <= dot x x].

Definition square x : R := dot x x.

Hypothesis inner : inner_product.

Lemma dotC x y : dot x y = dot y x. Proof. by have [sym _ _ _] := inner; apply: sym. Qed.
Lemma dotDl x y z : dot (x + y) z = dot x z + dot y z. Proof. by have [_ add _ _] := inner; apply: add. Qed.
Lemma dotZl a x y : dot (a *: x) y = a * dot x y. Proof. by have [_ _ scale _] := inner; apply: scale. Qed.
Lemma square_ge0 x : 0 <= square x. Proof. by have [_ _ _ pos] := inner; apply: pos. Qed.
Lemma dotDr x y z : dot z (x + y) = dot z x + dot z y. Proof. by rewrite dotC dotDl !(dotC z). Qed.
Lemma dotZr a x y : dot x (a *: y) = a * dot x y. Proof. by rewrite dotC dotZl dotC. Qed.
Lemma dotNl x y : dot (- x) y = - dot x y. Proof. by rewrite -scaleN1r dotZl mulN1r. Qed.
Lemma dotNr x y : dot x (- y) = - dot x y. Proof. by rewrite dotC dotNl dotC. Qed.
Lemma dot0l y : dot 0 y = 0. Proof. by rewrite -(scale0r 0) dotZl mul0r. Qed.

Lemma squareD x y : square (x + y) = square x + 2%:R * dot x y + square y.
Proof. by rewrite /square dotDl !dotDr [dot y x]dotC; ring. Qed.

Lemma squareB x y : square (x - y) = square x - 2%:R * dot x y + square y.
Proof. by rewrite squareD dotNr /square dotNl dotNr; ring. Qed.

Lemma squareZ a x : square (a *: x) = a ^+ 2 * square x.
Proof. by rewrite /square dotZl dotZr; ring. Qed.

Lemma young b x y : 0 < b -> square (x + y) <= (1 + b) * square x + (1 + b^-1) * square y.
Proof.
move=> b_gt0; rewrite -subr_ge0.
have -> : (1 + b) * square x + (1 + b^-1) * square y - square (x + y) = b^-1 * square (b *: x - y).
  by rewrite squareD squareB squareZ dotZl; field; rewrite lt0r_neq0.
by rewrite mulr_ge0 ?invr_ge0 ?square_ge0 // ltW.
Qed.

(** The square of a mean, and the mean of squares. *)
Variable W : finType.
Hypothesis workers : (0 < #|W|)%N.

Definition mean_value (r : W -> R) : R := #|W|%:R^-1 * \sum_w r w.

Lemma count_neq0 : #|W|%:R != 0 :> R.
Proof. by rewrite pnatr_eq0 -lt0n. Qed.

Lemma ler_mean_value r r' : (forall w, r w <= r' w) -> mean_value r <= mean_value r'.
Proof. by move=> le; rewrite ler_wpmul2l ?invr_ge0 ?ler0n //; apply: ler_sum => w _. Qed.

Lemma mean_value_ge0 r : (forall w, 0 <= r w) -> 0 <= mean_value r.
Proof. by move=> ge; rewrite mulr_ge0 ?invr_ge0 ?ler0n //; apply: sumr_ge0 => w _. Qed.

Lemma mean_valueD r r' : mean_value (fun w => r w + r' w) = mean_value r + mean_value r'.
Proof. by rewrite /mean_value big_split mulrDr. Qed.

Lemma mean_valueZ a r : mean_value (fun w => a * r w) = a * mean_value r.
Proof. by rewrite /mean_value -mulr_sumr mulrCA. Qed.

Lemma dot_meanl (v : W -> V) y : dot (mean v) y = mean_value (fun w => dot (v w) y).
Proof.
rewrite /mean dotZl; congr (_ * _).
by elim/big_rec2: _ => [|w a b _ <-]; [exact: dot0l | rewrite dotDl].
Qed.

Lemma mean_value_const a : mean_value (fun=> a) = a.
Proof. by rewrite /mean_value sumr_const -[a *+ _]mulr_natl mulKf // count_neq0. Qed.

(** Mean square = square of the mean + mean square of the differences. *)
Lemma spread (v : W -> V) :
  mean_value (fun w => square (v w)) = square (mean v) + mean_value (fun w => square (v w - mean v)).
Proof.
set m := mean v.
have -> : mean_value (fun w => square (v w - m)) =
          mean_value (fun w => square (v w) + (- 2%:R * dot (v w) m + square m)).
  by rewrite /mean_value; congr (_ * _); apply: eq_bigr => w _; rewrite squareB; ring.
rewrite !mean_valueD mean_valueZ -dot_meanl mean_value_const -/m -/(square m).
by rewrite /square; ring.
Qed.

Lemma square_mean (v : W -> V) : square (mean v) <= mean_value (fun w => square (v w)).
Proof. by rewrite spread ler_addl mean_value_ge0 // => w; apply: square_ge0. Qed.

End InnerProduct.

Section Descent.

Variables (R : realFieldType) (V : lmodType R) (dot : V -> V -> R) (W : finType).
Variables (f : V -> R) (grad : V -> V) (local : W -> V -> V) (C : W -> nat -> V -> V).
Variables (x : nat -> V) (e : W -> nat -> V) (eta L delta f_min zeta2 : R).

Local Notation square := (square dot).

Definition smooth : Prop :=
  forall y z, f z <= f y + dot (grad y) (z - y) + L / 2%:R * square (z - y).
Definition lipschitz : Prop := forall y z, square (grad y - grad z) <= L ^+ 2 * square (y - z).
Definition bounded_below : Prop := forall y, f_min <= f y.
Definition mean_gradient : Prop := forall y, grad y = mean (local^~ y).
Definition heterogeneous : Prop := forall y, mean_value (fun w => square (local w y - grad y)) <= zeta2.
Definition compresses : Prop := forall w t u, square (u - C w t u) <= (1 - delta) * square u.

Definition corrected w t : V := e w t + eta *: local w (x t).
Definition feeds_back : Prop :=
  [/\ forall w, e w 0%N = 0,
      forall w t, e w t.+1 = corrected w t - C w t (corrected w t)
    & forall t, x t.+1 = x t - mean (fun w => C w t (corrected w t))].

Hypothesis inner : inner_product dot.
Hypothesis workers : (0 < #|W|)%N.
Hypotheses (delta_gt0 : 0 < delta) (delta_le1 : delta <= 1).

Definition virtual t : V := x t - mean (e^~ t).
Definition residual t : R := mean_value (fun w => square (e w t)).
Definition potential t : R := f (virtual t) + eta * L ^+ 2 / delta * residual t.

Lemma virtual_moves t : mean_gradient -> feeds_back -> virtual t.+1 = virtual t - eta *: grad (x t).
Proof.
move=> gradE [_ e_next x_next]; rewrite gradE.
exact: (@virtual_iterate_at_once _ _ _ (fun=> eta) (fun w t => local w (x t))
  (fun w t => C w t (corrected w t)) e x t e_next x_next).
Qed.

Lemma residual_moves t : mean_gradient -> heterogeneous -> compresses -> feeds_back ->
  residual t.+1 <= (1 - delta / 2%:R) * residual t + 2%:R / delta * eta ^+ 2 * (square (grad (x t)) + zeta2).
Proof.
move=> gradE hetero compr [_ e_next _].
have two_gt0 : 0 < 2%:R :> R by rewrite ltr0n.
have half_gt0 : 0 < delta / 2%:R by rewrite divr_gt0.
have rest_ge0 : 0 <= 1 - delta by rewrite subr_ge0.
pose bound w := (1 - delta / 2%:R) * square (e w t) + 2%:R / delta * eta ^+ 2 * square (local w (x t)).
apply: (@le_trans _ _ (mean_value bound)).
  apply: ler_mean_value => w; rewrite e_next; apply: le_trans (compr w t _) _.
  apply: le_trans (ler_wpmul2l rest_ge0 (young inner _ _ half_gt0)) _.
  rewrite squareZ // /bound -subr_ge0; set E := square (e w t); set G := square (local w (x t)).
  have -> : (1 - delta / 2%:R) * E + 2%:R / delta * eta ^+ 2 * G -
      (1 - delta) * ((1 + delta / 2%:R) * E + (1 + (delta / 2%:R)^-1) * (eta ^+ 2 * G)) =
      delta ^+ 2 / 2%:R * E + (1 + delta) * eta ^+ 2 * G.
    by field; rewrite lt0r_neq0.
  have E_ge0 : 0 <= E by apply: square_ge0.
  have G_ge0 : 0 <= G by apply: square_ge0.
  have := sqr_ge0 eta; move: (eta ^+ 2) => eta2 eta2_ge0.
  by rewrite addr_ge0 // ?mulr_ge0 ?sqr_ge0 ?invr_ge0 ?addr_ge0 ?ler01 ?(ltW delta_gt0) ?(ltW two_gt0).
rewrite mean_valueD !mean_valueZ ler_add2l.
rewrite ler_wpmul2l ?(mulr_ge0 _ (sqr_ge0 eta)) ?divr_ge0 ?(ltW delta_gt0) ?(ltW two_gt0) //.
rewrite (spread inner workers) -gradE ler_add2l; apply: hetero.
Qed.

Hypothesis eta_ge0 : 0 <= eta.

Lemma function_moves t : mean_gradient -> smooth -> lipschitz -> feeds_back ->
  f (virtual t.+1) <= f (virtual t) - eta / 2%:R * (square (grad (x t)) - L ^+ 2 * residual t)
                      + L / 2%:R * eta ^+ 2 * square (grad (x t)).
Proof.
move=> gradE sm lip feeds; have two_gt0 : 0 < 2%:R :> R by rewrite ltr0n.
rewrite (virtual_moves t gradE feeds); apply: le_trans (sm (virtual t) _) _.
set g := grad (x t); set v := grad (virtual t).
have -> : virtual t - eta *: g - virtual t = - eta *: g by rewrite addrC addKr scaleNr.
have far : square (g - v) <= L ^+ 2 * residual t.
  apply: le_trans (lip _ _) _; rewrite ler_wpmul2l ?sqr_ge0 // /virtual opprB addrCA subrr addr0.
  exact: square_mean.
rewrite squareZ // dotZr // sqrrN -!addrA ler_add2l mulrA ler_add2r mulNr ler_opp2 -mulrA ler_wpmul2l //.
have two_dot : 2%:R * dot v g = square g - square (g - v) + square v by rewrite squareB // [dot g v]dotC //; ring.
have -> : dot v g = 2%:R^-1 * (2%:R * dot v g) by rewrite mulKf ?lt0r_neq0.
rewrite ler_wpmul2l ?invr_ge0 ?(ltW two_gt0) // two_dot -addrA ler_add2l.
by rewrite -[X in X <= _]addr0 ler_add ?ler_opp2 ?square_ge0.
Qed.

Hypotheses (L_ge0 : 0 <= L) (small_step : 4%:R * L * eta <= delta).

(** What the step leaves of [eta / 2], besides the price. *)
Lemma quarter_is_left : 0 <= eta / 4%:R - L / 2%:R * eta ^+ 2 - 2%:R * eta ^+ 3 * L ^+ 2 / delta ^+ 2.
Proof.
set r := L * eta / delta.
have r_ge0 : 0 <= r by rewrite divr_ge0 ?mulr_ge0 // ltW.
have r_small : 0 <= 4%:R^-1 - r.
  by rewrite subr_ge0 ler_pdivr_mulr // ler_pdivl_mull ?ltr0n // mulrA.
have -> : eta / 4%:R - L / 2%:R * eta ^+ 2 - 2%:R * eta ^+ 3 * L ^+ 2 / delta ^+ 2 =
          eta * (r / 2%:R * (1 - delta) + (4%:R^-1 - r) * (1 + 2%:R * r)).
  by rewrite /r; field; rewrite lt0r_neq0.
apply: mulr_ge0 => //; apply: addr_ge0; apply: mulr_ge0 => //.
- by rewrite divr_ge0 ?ler0n.
- by rewrite subr_ge0.
by apply: addr_ge0; [exact: ler01 | apply: mulr_ge0; rewrite ?ler0n].
Qed.

(** What one step costs as the local gradients differ. *)
Definition price (eta L delta zeta2 : R) : R := 2%:R * eta ^+ 3 * L ^+ 2 / delta ^+ 2 * zeta2.

Lemma potential_falls t : mean_gradient -> heterogeneous -> smooth -> lipschitz -> compresses -> feeds_back ->
  eta / 4%:R * square (grad (x t)) <= potential t - potential t.+1 + price eta L delta zeta2.
Proof.
move=> gradE hetero sm lip compr feeds.
have weight_ge0 : 0 <= eta * L ^+ 2 / delta by rewrite divr_ge0 ?mulr_ge0 ?exprn_ge0 // ltW.
have := ler_add (function_moves t gradE sm lip feeds)
                (ler_wpmul2l weight_ge0 (residual_moves t gradE hetero compr feeds)).
rewrite -/(potential t.+1) => falls.
have G_ge0 : 0 <= square (grad (x t)) by apply: square_ge0.
rewrite addrAC ler_subr_addr addrC -ler_subr_addr; apply: le_trans falls _.
rewrite -subr_ge0; apply: le_trans (mulr_ge0 quarter_is_left G_ge0) _.
rewrite le_eqVlt; apply/orP; left; apply/eqP; rewrite /potential /price.
by field; rewrite lt0r_neq0.
Qed.

Definition descent_bound (start_gap eta L delta zeta2 : R) (T : nat) : R := start_gap + T%:R * price eta L delta zeta2.

Theorem descent T :
  mean_gradient -> heterogeneous -> smooth -> lipschitz -> bounded_below -> compresses -> feeds_back ->
  eta / 4%:R * (\sum_(0 <= t < T) square (grad (x t))) <= descent_bound (f (x 0%N) - f_min) eta L delta zeta2 T.
Proof.
move=> gradE hetero sm lip below compr feeds.
have start : potential 0 = f (x 0%N).
  have [e0 _ _] := feeds; rewrite /potential /virtual /residual.
  rewrite (_ : mean (e^~ 0%N) = 0) ?subr0; last by rewrite /mean big1 ?scaler0.
  rewrite (_ : mean_value _ = 0) ?mulr0 ?addr0 // /mean_value big1 ?mulr0 // => w _.
  by rewrite e0 /square dot0l.
have finish : f_min <= potential T.
  apply: le_trans (below (virtual T)) _; rewrite ler_addl !mulr_ge0 ?exprn_ge0 ?invr_ge0 ?ler0n ?(ltW delta_gt0) //.
  by apply: sumr_ge0 => w _; apply: square_ge0.
apply: (@le_trans _ _ (potential 0 - potential T + T%:R * price eta L delta zeta2)); last first.
  by rewrite start ler_add2r ler_add2l ler_opp2.
elim: T {finish} => [|T IH]; first by rewrite big_geq // mulr0 subrr mul0r addr0.
rewrite big_nat_recr //= mulrDr; apply: le_trans (ler_add IH (potential_falls T gradE hetero sm lip compr feeds)) _.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; rewrite -[T.+1]addn1 natrD; ring.
Qed.

End Descent.
