(** * Error feedback loses nothing

Workers [w] of a finite type hold residuals [e w t]; at step [t] worker [w] adds [step t * gradient w t] to its
residual, sends a payload [c w t], whatever that is, and keeps the rest:

    e w (t + 1) = e w t + step t *: gradient w t - c w t.

A payload sent at step [s] is applied at step [arrival w s >= s]; the parameters move by minus the mean of the payloads
that arrive. Then, for every compressor and every delay,

- what was created is what was sent and what is kept: sum of payloads + residual = sum of steps times gradients;
- the virtual iterate, which has applied everything created so far, moves by minus [step t] times the mean gradient.

The same holds where gradients, not payloads, arrive late: what arrives enters the residual. *)

From mathcomp Require Import all_ssreflect all_algebra.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory.
Local Open Scope ring_scope.

Section Feedback.

Variables (R : fieldType) (V : lmodType R) (W : finType).
Variables (step : nat -> R) (gradient c e : W -> nat -> V) (arrival : W -> nat -> nat) (x : nat -> V).

Definition mean (v : W -> V) : V := #|W|%:R^-1 *: \sum_w v w.

(** Payloads that are applied at step [t], and payloads under way when step [t] begins. *)
Definition arriving w t : V := \sum_(0 <= s < t.+1 | arrival w s == t) c w s.
Definition under_way w t : V := \sum_(0 <= s < t | (t <= arrival w s)%N) c w s.

Definition keeps_the_rest : Prop := forall w t, e w t.+1 = e w t + step t *: gradient w t - c w t.
Definition applies_arrivals : Prop := forall t, x t.+1 = x t - mean (arriving^~ t).
Definition causal : Prop := forall w s, (s <= arrival w s)%N.

Definition virtual_iterate t : V := x t - mean (fun w => e w t + under_way w t).

Lemma meanD v v' : mean (fun w => v w + v' w) = mean v + mean v'.
Proof. by rewrite /mean big_split scalerDr. Qed.

Lemma meanN v : mean (fun w => - v w) = - mean v.
Proof. by rewrite /mean sumrN scalerN. Qed.

Lemma meanZ (a : R) v : mean (fun w => a *: v w) = a *: mean v.
Proof. by rewrite /mean -scaler_sumr !scalerA mulrC. Qed.

Lemma eq_mean v v' : (forall w, v w = v' w) -> mean v = mean v'.
Proof. by move=> same; rewrite /mean (eq_bigr _ (fun w _ => same w)). Qed.

Theorem conservation w t :
  keeps_the_rest -> \sum_(0 <= s < t) c w s + e w t = e w 0 + \sum_(0 <= s < t) step s *: gradient w s.
Proof.
move=> keeps; elim: t => [|t IH]; first by rewrite !big_geq // add0r addr0.
rewrite !big_nat_recr //= keeps [RHS]addrA -IH -!addrA; congr (_ + _).
by rewrite [LHS]addrC -!addrA addNr addr0.
Qed.

Lemma under_way_moves w t : causal -> under_way w t.+1 + arriving w t = under_way w t + c w t.
Proof.
move=> caus; transitivity (\sum_(0 <= s < t.+1 | (t <= arrival w s)%N) c w s).
  rewrite /under_way /arriving [X in X + _]big_mkcond [X in _ + X]big_mkcond -big_split [RHS]big_mkcond /=.
  apply: eq_bigr => s _; rewrite [(t <= _)%N]leq_eqVlt eq_sym.
  by case: eqP => [-> | _] /=; rewrite ?ltnn ?add0r ?addr0.
by rewrite big_mkcond big_nat_recr //= -big_mkcond caus.
Qed.

Theorem virtual_iterate_moves t :
  keeps_the_rest -> applies_arrivals -> causal ->
  virtual_iterate t.+1 = virtual_iterate t - step t *: mean (gradient^~ t).
Proof.
move=> keeps applies caus; rewrite /virtual_iterate applies -!addrA; congr (_ + _).
rewrite -!opprD; congr (- _); rewrite -meanZ -!meanD; apply: eq_mean => w /=.
rewrite keeps addrC -addrA under_way_moves //.
by rewrite [RHS]addrAC -!addrA; congr (_ + (_ + _)); rewrite addrC addrK.
Qed.

End Feedback.

(** Applied at once, nothing is under way: the virtual iterate is the parameters minus the mean residual. *)
Section AtOnce.

Variables (R : fieldType) (V : lmodType R) (W : finType).
Variables (step : nat -> R) (gradient c e : W -> nat -> V) (x : nat -> V).

Lemma nothing_under_way w t : under_way c (fun _ s => s) w t = 0.
Proof. by rewrite /under_way big_nat_cond big1 // => s /andP[/andP[_ st]]; rewrite leqNgt st. Qed.

Lemma arriving_at_once w t : arriving c (fun _ s => s) w t = c w t.
Proof.
rewrite /arriving big_mkcond big_nat_recr //= eqxx big_nat_cond big1 ?add0r // => s /andP[/andP[_ st] _].
by rewrite ltn_eqF.
Qed.

Corollary virtual_iterate_at_once t :
  keeps_the_rest step gradient c e -> (forall t, x t.+1 = x t - mean (c^~ t)) ->
  x t.+1 - mean (e^~ t.+1) = x t - mean (e^~ t) - step t *: mean (gradient^~ t).
Proof.
move=> keeps applies.
have applies' : applies_arrivals c (fun _ s => s) x.
  by move=> s; rewrite applies; congr (_ - _); apply: eq_mean => w; rewrite arriving_at_once.
have := virtual_iterate_moves t keeps applies' (fun _ s => leqnn s).
rewrite /virtual_iterate => moved.
rewrite -(@eq_mean _ _ _ (fun w => e w t.+1 + under_way c (fun _ s => s) w t.+1)) => [|w]; last first.
  by rewrite nothing_under_way addr0.
rewrite moved; congr (_ - _ - _); apply: eq_mean => w.
by rewrite nothing_under_way addr0.
Qed.

End AtOnce.

(** ** Late gradients: what arrives at step [t] enters the residual, and the payload is applied at once. *)
Section LateGradients.

Variables (R : fieldType) (V : lmodType R) (W : finType).
Variables (step : nat -> R) (gradient c e : W -> nat -> V) (arrival : W -> nat -> nat) (x : nat -> V).

Definition created w s : V := step s *: gradient w s.
Definition keeps_the_rest_of_arrivals : Prop :=
  forall w t, e w t.+1 = e w t + arriving created arrival w t - c w t.
Definition applies_payloads : Prop := forall t, x t.+1 = x t - mean (c^~ t).

Definition late_virtual_iterate t : V := x t - mean (fun w => e w t + under_way created arrival w t).

Theorem late_virtual_iterate_moves t :
  keeps_the_rest_of_arrivals -> applies_payloads -> causal arrival ->
  late_virtual_iterate t.+1 = late_virtual_iterate t - step t *: mean (gradient^~ t).
Proof.
move=> keeps applies caus; rewrite /late_virtual_iterate applies -!addrA; congr (_ + _).
rewrite -!opprD; congr (- _); rewrite -meanZ -!meanD; apply: eq_mean => w /=.
rewrite keeps -[RHS]addrA -/(created w t) -under_way_moves //.
by rewrite -!addrA addrCA; congr (_ + _); rewrite addrCA addNKr addrC.
Qed.

End LateGradients.

(** ** A memory that decays: what is forgotten pushes the virtual iterate back. *)

Lemma regrouped (V : zmodType) (x sent shrunk new kept : V) :
  x - sent - (shrunk + new - sent) = x - kept - new + (kept - shrunk).
Proof. by rewrite opprB addrA subrK addrAC [x - kept + _]addrA subrK opprD addrA. Qed.

Lemma accounted (V : zmodType) (sum sent shrunk new lost kept : V) :
  sum + sent + (shrunk + new - sent) + (lost + (kept - shrunk)) = sum + kept + lost + new.
Proof.
rewrite -[sum + sent + _]addrA [sent + _]addrC subrK [shrunk + new]addrC [lost + _]addrC !addrA.
by rewrite -[sum + new + shrunk + kept]addrA [shrunk + kept]addrC addrA addrK -!addrA; congr (_ + _); rewrite addrC -addrA.
Qed.

Section Forgetting.

Variables (R : fieldType) (V : lmodType R) (W : finType).
Variables (beta : R) (change c e : W -> nat -> V) (x : nat -> V).

Definition keeps_and_forgets : Prop := forall w t, e w t.+1 = beta *: e w t + change w t - c w t.

Theorem decayed_iterate_moves t :
  keeps_and_forgets -> (forall t, x t.+1 = x t - mean (c^~ t)) ->
  x t.+1 - mean (e^~ t.+1) = x t - mean (e^~ t) - mean (change^~ t) + (1 - beta) *: mean (e^~ t).
Proof.
move=> keeps applies; rewrite applies.
have -> : mean (e^~ t.+1) = beta *: mean (e^~ t) + mean (change^~ t) - mean (c^~ t).
  by rewrite -meanZ -meanD -meanN -meanD; apply: eq_mean => w /=; exact: keeps.
by rewrite scalerBl scale1r; apply: regrouped.
Qed.

(** For every compressor, start and change there is such a run. *)
Lemma decayed_run (compress : W -> V -> V) (start : W -> V) (new : W -> nat -> V) :
  exists e c : W -> nat -> V, (forall w, e w 0%N = start w) /\
    forall w t, e w t.+1 = beta *: e w t + new w t - c w t.
Proof.
pose fix kept w t := if t is s.+1 then
  let u := beta *: kept w s + new w s in u - compress w u else start w.
by exists kept, (fun w t => compress w (beta *: kept w t + new w t)).
Qed.

(** What was created is what was sent, what is kept, and what was forgotten. *)
Theorem decayed_account w t :
  keeps_and_forgets ->
  \sum_(0 <= s < t) c w s + e w t + (1 - beta) *: (\sum_(0 <= s < t) e w s)
    = e w 0%N + \sum_(0 <= s < t) change w s.
Proof.
move=> keeps; elim: t => [|t IH]; first by rewrite !big_geq // scaler0 add0r !addr0.
rewrite !big_nat_recr //= keeps scalerDr [(1 - beta) *: e w t]scalerBl scale1r accounted.
by rewrite IH addrA.
Qed.

End Forgetting.
