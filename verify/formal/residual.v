(** * How large does the residual become?

Let [N] be a seminorm, or anything with [N 0 = 0] and the triangle inequality, and let the compressor satisfy
[N (u - C u) ^ 2 <= (1 - delta) N(u) ^ 2] with [0 < delta <= 1]. Gradients [h t], the step size included, have
[N (h t) <= G]. With [a = sqrt (1 - delta)] the residuals of error feedback, [e 0 = 0], satisfy

    N (e t) <= a G / (1 - a),   that is,   N (e t) ^ 2 <= (1 - delta) G ^ 2 / (1 - a) ^ 2,

and hence [N (e t) ^ 2 <= 4 (1 - delta) G ^ 2 / delta ^ 2]. The first is Minkowski's, and sharp: the scalar compressor
that keeps back [a u] attains every partial sum.

Of the compressor no more is used than what it keeps back on the way, [N (e (s+1)) ^ 2 <= (1 - delta) N (e s + h s) ^ 2]
for [s < t]. So the same holds for random vectors, with the root of the mean square for [N]: see [random_residual]. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Whatever leaves the residuals *)
Section Along.

Variables (R : rcfType) (V : zmodType) (N : V -> R) (h e : nat -> V) (delta G : R) (t : nat).

Definition keeps_share : Prop := forall s, (s < t)%N -> N (e s.+1) ^+ 2 <= (1 - delta) * N (e s + h s) ^+ 2.

Hypothesis N0 : N 0 = 0.
Hypothesis N_ge0 : forall u, 0 <= N u.
Hypothesis triangle : forall u v, N (u + v) <= N u + N v.
Hypothesis delta_le1 : delta <= 1.
Hypothesis G_ge0 : 0 <= G.
Hypothesis bounded : forall s, (s < t)%N -> N (h s) <= G.

Let a := Num.sqrt (1 - delta).

Lemma a_ge0 : 0 <= a.
Proof. exact: sqrtr_ge0. Qed.

Lemma a_sqr : a ^+ 2 = 1 - delta.
Proof. by rewrite sqr_sqrtr // subr_ge0. Qed.

Lemma root_share s : keeps_share -> (s < t)%N -> N (e s.+1) <= a * N (e s + h s).
Proof.
move=> keeps st; rewrite -ler_sqr ?nnegrE ?N_ge0 ?mulr_ge0 ?a_ge0 //.
by rewrite exprMn a_sqr; apply: keeps.
Qed.

(** The partial sums of the geometric series, ... *)
Theorem residual_partial_along : e 0%N = 0 -> keeps_share -> N (e t) <= G * \sum_(1 <= i < t.+1) a ^+ i.
Proof.
move=> e0 keeps; move: (leqnn t); elim: {1 3 4}t => [|s IH] st; first by rewrite e0 N0 big_geq // mulr0.
apply: le_trans (root_share keeps st) _.
rewrite big_nat_recl //= expr1 [\sum_(1 <= i < s.+1) _](_ : _ = a * \sum_(1 <= i < s.+1) a ^+ i); last first.
  by rewrite mulr_sumr; apply: eq_bigr => i _; rewrite exprS.
set S := \sum_(1 <= i < s.+1) _ in IH *.
have -> : G * (a + a * S) = a * (G * S + G) by ring.
by rewrite ler_wpmul2l ?a_ge0 //; apply: le_trans (triangle _ _) _; rewrite ler_add ?IH ?bounded // ltnW.
Qed.

Hypothesis delta_gt0 : 0 < delta.

Lemma a_lt1 : a < 1.
Proof. by rewrite -ltr_sqr ?nnegrE ?a_ge0 ?ler01 // a_sqr expr1n ltr_subl_addr ltr_addl. Qed.

(** ... their limit, ... *)
Lemma residual_root_along : e 0%N = 0 -> keeps_share -> N (e t) <= a * G / (1 - a).
Proof.
move=> e0 keeps; apply: le_trans (residual_partial_along e0 keeps) _.
have room : 0 < 1 - a by rewrite subr_gt0 a_lt1.
rewrite ler_pdivl_mulr // -mulrA [a * G]mulrC ler_wpmul2l //.
have -> : (\sum_(1 <= i < t.+1) a ^+ i) * (1 - a) = a - a ^+ t.+1.
  elim: {+}t => [|s IH]; first by rewrite big_geq // mul0r expr1 subrr.
  by rewrite big_nat_recr //= mulrDl IH !exprS; ring.
by rewrite ler_subl_addr ler_addl exprn_ge0 ?a_ge0.
Qed.

(** ... its square, ... *)
Definition minkowski_bound (delta G : R) : R := (1 - delta) * G ^+ 2 / (1 - Num.sqrt (1 - delta)) ^+ 2.

Theorem residual_minkowski_along : e 0%N = 0 -> keeps_share -> N (e t) ^+ 2 <= minkowski_bound delta G.
Proof.
move=> e0 keeps; rewrite /minkowski_bound -{1}a_sqr -exprMn -expr_div_n.
have root_ge0 : 0 <= a * G / (1 - a) by rewrite divr_ge0 ?mulr_ge0 ?a_ge0 // subr_ge0 ltW ?a_lt1.
by rewrite ler_sqr ?nnegrE //; apply: residual_root_along.
Qed.

(** ... and what remains of it without a root. *)
Definition young_bound (delta G : R) : R := 4%:R * (1 - delta) * G ^+ 2 / delta ^+ 2.

Lemma minkowski_le_young : minkowski_bound delta G <= young_bound delta G.
Proof.
have room : 0 < 1 - a by rewrite subr_gt0 a_lt1.
have factored : delta = (1 - a) * (1 + a) by rewrite -[LHS](subKr 1) -a_sqr; ring.
have sum_gt0 : 0 < 1 + a by rewrite ltr_paddr ?a_ge0 ?ltr01.
have -> : young_bound delta G = 4%:R / (1 + a) ^+ 2 * minkowski_bound delta G.
  rewrite /minkowski_bound /young_bound -/a -a_sqr [in LHS]factored; field.
  by rewrite !lt0r_neq0.
rewrite ler_pemull ?mulr_ge0 ?invr_ge0 ?sqr_ge0 ?subr_ge0 // ler_pdivl_mulr ?exprn_gt0 // mul1r.
have -> : 4%:R = 2%:R ^+ 2 :> R by rewrite -natrX.
by rewrite ler_sqr ?nnegrE ?ler0n ?(ltW sum_gt0) // -[2%:R]/(1 + 1) ler_add2l ltW ?a_lt1.
Qed.

Theorem residual_bound_along : e 0%N = 0 -> keeps_share -> N (e t) ^+ 2 <= young_bound delta G.
Proof. by move=> e0 keeps; apply: le_trans (residual_minkowski_along e0 keeps) minkowski_le_young. Qed.

End Along.

(** ** A compressor that contracts every vector *)
Section Residual.

Variables (R : rcfType) (V : zmodType) (N : V -> R) (C : nat -> V -> V) (h e : nat -> V) (delta G : R).

Definition contracts : Prop := forall t u, N (u - C t u) ^+ 2 <= (1 - delta) * N u ^+ 2.
Definition feeds_back : Prop := e 0%N = 0 /\ forall t, e t.+1 = (e t + h t) - C t (e t + h t).

Hypothesis N0 : N 0 = 0.
Hypothesis N_ge0 : forall u, 0 <= N u.
Hypothesis triangle : forall u v, N (u + v) <= N u + N v.
Hypothesis delta_gt0 : 0 < delta.
Hypothesis delta_le1 : delta <= 1.
Hypothesis bounded : forall t, N (h t) <= G.

Lemma G_ge0 : 0 <= G.
Proof. exact: le_trans (N_ge0 (h 0%N)) (bounded 0). Qed.

Lemma contracts_along t : contracts -> feeds_back -> keeps_share N h e delta t.
Proof. by move=> contr [_ e_next] s _; rewrite e_next; apply: contr. Qed.

Theorem residual_partial t :
  contracts -> feeds_back -> N (e t) <= G * \sum_(1 <= i < t.+1) Num.sqrt (1 - delta) ^+ i.
Proof.
move=> contr feeds; have [e0 _] := feeds.
exact: residual_partial_along N0 N_ge0 triangle _ _ e0 (contracts_along contr feeds).
Qed.

Theorem residual_minkowski t : contracts -> feeds_back -> N (e t) ^+ 2 <= minkowski_bound delta G.
Proof.
move=> contr feeds; have [e0 _] := feeds.
exact: residual_minkowski_along N0 N_ge0 triangle _ G_ge0 _ _ e0 (contracts_along contr feeds).
Qed.

Theorem residual_bound t : contracts -> feeds_back -> N (e t) ^+ 2 <= young_bound delta G.
Proof.
move=> contr feeds; have [e0 _] := feeds.
exact: residual_bound_along N0 N_ge0 triangle _ G_ge0 _ _ e0 (contracts_along contr feeds).
Qed.

End Residual.

(** ** A memory that decays

With [u = beta *: e + h] the residual forgets the share [1 - beta] of itself at every step, [N (beta *: u) <= beta * N u].
Whatever keeps back no more than the share [1 - delta] of [N u ^ 2] on the way, [N (e t) <= a G / (1 - beta a)]. *)
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
