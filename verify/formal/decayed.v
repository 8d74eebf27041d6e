(** * What does a memory that decays keep, and what does it lose?

With [u = beta *: e + h] the residual of error feedback forgets the share [1 - beta] of itself at every step. Let [N] be
a norm as in residual.v, [N (beta *: u) <= beta * N u], and let no more than the share [1 - delta] be kept back on the way,
[N (e (t + 1)) ^ 2 <= (1 - delta) N(beta e t + h t) ^ 2]: [N] may be the root of a mean square on any probability space.
With [a = sqrt (1 - delta)] and [N (h t) <= G],

    N (e t) <= a G / (1 - beta a),

and, for every compressor and any number of workers, the parameters minus the mean residual move by minus the mean change
plus [1 - beta] times the mean residual. For [beta = 1] these are the theorems of residual.v and feedback.v. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import feedback.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Decayed.

Variables (R : rcfType) (V : lmodType R) (N : V -> R) (h e : nat -> V) (delta beta G : R).

Definition keeps_back : Prop :=
  e 0%N = 0 /\ forall t, N (e t.+1) ^+ 2 <= (1 - delta) * N (beta *: e t + h t) ^+ 2.

Hypothesis N0 : N 0 = 0.
Hypothesis N_ge0 : forall u, 0 <= N u.
Hypothesis triangle : forall u v, N (u + v) <= N u + N v.
Hypothesis shrinks : forall u, N (beta *: u) <= beta * N u.
Hypothesis delta_gt0 : 0 < delta.
Hypothesis delta_le1 : delta <= 1.
Hypothesis beta_ge0 : 0 <= beta.
Hypothesis beta_le1 : beta <= 1.
Hypothesis bounded : forall t, N (h t) <= G.

Let a := Num.sqrt (1 - delta).

Lemma root_ge0 : 0 <= a.
Proof. exact: sqrtr_ge0. Qed.

Lemma root_sqr : a ^+ 2 = 1 - delta.
Proof. by rewrite sqr_sqrtr // subr_ge0. Qed.

Lemma root_lt1 : a < 1.
Proof. by rewrite -ltr_sqr ?nnegrE ?root_ge0 ?ler01 // root_sqr expr1n ltr_subl_addr ltr_addl. Qed.

Lemma room_gt0 : 0 < 1 - beta * a.
Proof.
rewrite subr_gt0; apply: le_lt_trans root_lt1.
by rewrite -[X in _ <= X]mul1r ler_wpmul2r ?root_ge0.
Qed.

Lemma keeps_root t : keeps_back -> N (e t.+1) <= a * N (beta *: e t + h t).
Proof.
move=> [_ keeps]; rewrite -ler_sqr ?nnegrE ?N_ge0 ?mulr_ge0 ?root_ge0 //.
by rewrite exprMn root_sqr; apply: keeps.
Qed.

Lemma level_ge0 : 0 <= a * G / (1 - beta * a).
Proof.
apply: divr_ge0; last exact: ltW room_gt0.
by apply: mulr_ge0; [exact: root_ge0 | exact: le_trans (N_ge0 (h 0%N)) (bounded 0%N)].
Qed.

(** One step keeps what is at most [a G / (1 - beta a)] there, ... *)
Theorem decayed_residual_root t : keeps_back -> N (e t) <= a * G / (1 - beta * a).
Proof.
move=> keeps; elim: t => [|t IH]; first by rewrite (proj1 keeps) N0 level_ge0.
apply: le_trans (keeps_root t keeps) _.
have -> : a * G / (1 - beta * a) = a * (beta * (a * G / (1 - beta * a)) + G).
  by field; apply: lt0r_neq0; apply: room_gt0.
rewrite ler_wpmul2l ?root_ge0 //; apply: le_trans (triangle _ _) _; apply: ler_add => //.
by apply: le_trans (shrinks _) _; rewrite ler_wpmul2l.
Qed.

(** ... and its square. *)
Definition decayed_bound (delta beta G : R) : R := (1 - delta) * G ^+ 2 / (1 - beta * Num.sqrt (1 - delta)) ^+ 2.

Theorem decayed_residual t : keeps_back -> N (e t) ^+ 2 <= decayed_bound delta beta G.
Proof.
move=> keeps; rewrite /decayed_bound -{1}root_sqr -exprMn -expr_div_n.
by rewrite ler_sqr ?nnegrE ?level_ge0 //; apply: decayed_residual_root.
Qed.

End Decayed.

(** ** It is attained: the scalar compressor with constant changes comes as near to the bound as one likes. *)
Section Attained.

Variables (R : rcfType) (delta beta G : R).
Hypotheses (delta_gt0 : 0 < delta) (delta_le1 : delta <= 1).
Hypotheses (beta_ge0 : 0 <= beta) (beta_le1 : beta <= 1) (G_ge0 : 0 <= G).
Let a := Num.sqrt (1 - delta).

Theorem decayed_attained : exists (C : R^o -> R^o) (h e : nat -> R^o),
  [/\ forall u : R^o, `|u - C u : R| ^+ 2 <= (1 - delta) * `|u : R| ^+ 2,
    forall t, e t.+1 = (beta *: e t + h t) - C (beta *: e t + h t),
    keeps_back (fun u : R^o => `|u : R|) h e delta beta, forall t, `|h t : R| <= G
    & forall t, e t = a * G / (1 - beta * a) * (1 - (beta * a) ^+ t)].
Proof.
pose level t : R^o := a * G / (1 - beta * a) * (1 - (beta * a) ^+ t).
pose C (u : R^o) : R^o := (1 - a) * u.
have contr (u : R^o) : `|u - C u : R| ^+ 2 <= (1 - delta) * `|u : R| ^+ 2.
  have -> : u - C u = a * u by rewrite /C; ring.
  by rewrite normrM exprMn ger0_norm ?root_ge0 // root_sqr.
have next t : level t.+1 = (beta *: level t + G) - C (beta *: level t + G).
  rewrite /level /C /= exprS /GRing.scale /=.
  by field; apply: lt0r_neq0; apply: room_gt0.
exists C, (fun=> G), level; split=> // [|t]; last by rewrite ger0_norm.
by split=> [|t]; [rewrite /level expr0 subrr mulr0 | rewrite next; apply: contr].
Qed.

End Attained.

(** ** The virtual iterate: what is forgotten pushes it back. *)

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
