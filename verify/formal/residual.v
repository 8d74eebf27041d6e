(** * How large does the residual become?

Let [N] be a seminorm, or anything with [N 0 = 0] and the triangle inequality, and let the compressor satisfy
[N (u - C u) ^ 2 <= (1 - delta) N(u) ^ 2] with [0 < delta <= 1]. Gradients [h t], the step size included, have
[N (h t) <= G]. With [a = sqrt (1 - delta)] the residuals of error feedback, [e 0 = 0], satisfy

    N (e t) <= a G / (1 - a),   that is,   N (e t) ^ 2 <= (1 - delta) G ^ 2 / (1 - a) ^ 2,

and hence [N (e t) ^ 2 <= 4 (1 - delta) G ^ 2 / delta ^ 2]. The first is Minkowski's, and sharp: the scalar compressor
that keeps back [a u] attains every partial sum. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

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

Let a := Num.sqrt (1 - delta).

Lemma a_ge0 : 0 <= a.
Proof. exact: sqrtr_ge0. Qed.

Lemma a_sqr : a ^+ 2 = 1 - delta.
Proof. by rewrite sqr_sqrtr // subr_ge0. Qed.

Lemma a_lt1 : a < 1.
Proof. by rewrite -ltr_sqr ?nnegrE ?a_ge0 ?ler01 // a_sqr expr1n ltr_subl_addr ltr_addl. Qed.

Lemma G_ge0 : 0 <= G.
Proof. exact: le_trans (N_ge0 (h 0%N)) (bounded 0). Qed.

Lemma root_contracts t u : contracts -> N (u - C t u) <= a * N u.
Proof.
move=> contr; rewrite -ler_sqr ?nnegrE ?N_ge0 ?mulr_ge0 ?a_ge0 //.
by rewrite exprMn a_sqr; apply: contr.
Qed.

(** The partial sums of the geometric series, ... *)
Theorem residual_partial t : contracts -> feeds_back -> N (e t) <= G * \sum_(1 <= i < t.+1) a ^+ i.
Proof.
move=> contr [e0 e_next]; elim: t => [|t IH]; first by rewrite e0 N0 big_geq // mulr0.
rewrite e_next; apply: le_trans (root_contracts _ _ contr) _.
rewrite big_nat_recl //= expr1 [\sum_(1 <= i < t.+1) _](_ : _ = a * \sum_(1 <= i < t.+1) a ^+ i); last first.
  by rewrite mulr_sumr; apply: eq_bigr => i _; rewrite exprS.
set S := \sum_(1 <= i < t.+1) _ in IH *.
have -> : G * (a + a * S) = a * (G * S + G) by ring.
by rewrite ler_wpmul2l ?a_ge0 //; apply: le_trans (triangle _ _) _; rewrite ler_add.
Qed.

(** ... their limit, ... *)
Theorem residual_minkowski_root t : contracts -> feeds_back -> N (e t) <= a * G / (1 - a).
Proof.
move=> contr feeds; apply: le_trans (residual_partial t contr feeds) _.
have room : 0 < 1 - a by rewrite subr_gt0 a_lt1.
rewrite ler_pdivl_mulr // -mulrA [a * G]mulrC ler_wpmul2l ?G_ge0 //.
have -> : (\sum_(1 <= i < t.+1) a ^+ i) * (1 - a) = a - a ^+ t.+1.
  elim: t => [|t IH]; first by rewrite big_geq // mul0r expr1 subrr.
  by rewrite big_nat_recr //= mulrDl IH !exprS; ring.
by rewrite ler_subl_addr ler_addl exprn_ge0 ?a_ge0.
Qed.

(** ... its square, ... *)
Definition minkowski_bound (delta G : R) : R := (1 - delta) * G ^+ 2 / (1 - Num.sqrt (1 - delta)) ^+ 2.

Theorem residual_minkowski t : contracts -> feeds_back -> N (e t) ^+ 2 <= minkowski_bound delta G.
Proof.
move=> contr feeds; rewrite /minkowski_bound -{1}a_sqr -exprMn -expr_div_n.
have root_ge0 : 0 <= a * G / (1 - a) by rewrite divr_ge0 ?mulr_ge0 ?a_ge0 ?G_ge0 // subr_ge0 ltW ?a_lt1.
by rewrite ler_sqr ?nnegrE //; apply: residual_minkowski_root.
Qed.

(** ... and what remains of it without a root. *)
Definition young_bound (delta G : R) : R := 4%:R * (1 - delta) * G ^+ 2 / delta ^+ 2.

Theorem residual_bound t : contracts -> feeds_back -> N (e t) ^+ 2 <= young_bound delta G.
Proof.
move=> contr feeds; have room : 0 < 1 - a by rewrite subr_gt0 a_lt1.
have factored : delta = (1 - a) * (1 + a) by rewrite -[LHS](subKr 1) -a_sqr; ring.
have le_double : a * G / (1 - a) <= 2%:R * (a * G) / delta.
  have -> : a * G / (1 - a) = (1 + a) * (a * G) / delta.
    rewrite factored; field; apply/andP; split; apply: lt0r_neq0 => //.
    by rewrite ltr_paddr ?a_ge0 ?ltr01.
  rewrite -[X in X <= _]mulrA -[X in _ <= X]mulrA ler_wpmul2r ?divr_ge0 ?mulr_ge0 ?a_ge0 ?G_ge0 ?(ltW delta_gt0) //.
  by rewrite -[2%:R]/(1 + 1) ler_add2l ltW ?a_lt1.
have -> : young_bound delta G = (2%:R * (a * G) / delta) ^+ 2.
  by rewrite /young_bound -a_sqr; field; rewrite lt0r_neq0.
rewrite ler_sqr ?nnegrE //; first exact: le_trans (residual_minkowski_root t contr feeds) le_double.
by rewrite divr_ge0 ?mulr_ge0 ?ler0n ?a_ge0 ?G_ge0 // ltW.
Qed.

End Residual.
