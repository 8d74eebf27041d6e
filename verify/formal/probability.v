(** * Finite probability spaces

A finite type of outcomes, with weights [P o >= 0] that sum to 1. A random variable is a function of the outcome, its
expectation [E X = sum_o P o * X o], and [X] is independent of [Y] if

    P (X = s and Y = y) = P (X = s) P (Y = y)    for all s and y.

[E (g | X) = m X] means that for every value [s] the part of [E g] on [X = s] is [P (X = s) m s]. Then

- [E F (X, Y)] is, for independent variables, the expectation over [Y] of the expectation over [X];
- [E <phi X, g> = E <phi X, m X>] for every [phi], if [E (g | X) = m X];
- [E <X, Y>] is an inner product of random vectors, and the root of [E (N X) ^ 2] a seminorm for every seminorm [N]:
  Cauchy's, Minkowski's and Jensen's inequalities in the mean square;
- a coordinate of the outcome that is drawn afresh is independent of all that does not change with it. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import feedback descent euclidean.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Expectation *)
Section Expectation.

Variables (R : realFieldType) (Omega : finType) (P : Omega -> R).

Definition probability : Prop := (forall o, 0 <= P o) /\ \sum_o P o = 1.
Definition expect (X : Omega -> R) : R := \sum_o P o * X o.
Definition chance (A : pred Omega) : R := \sum_(o | A o) P o.

Lemma eq_expect X Y : (forall o, X o = Y o) -> expect X = expect Y.
Proof. by move=> same; apply: eq_bigr => o _; rewrite same. Qed.

Lemma expectD X Y : expect (fun o => X o + Y o) = expect X + expect Y.
Proof. by rewrite -big_split; apply: eq_bigr => o _; rewrite mulrDr. Qed.

Lemma expectZ c X : expect (fun o => c * X o) = c * expect X.
Proof. by rewrite mulr_sumr; apply: eq_bigr => o _; rewrite mulrCA. Qed.

Lemma expectN X : expect (fun o => - X o) = - expect X.
Proof. by rewrite /expect -sumrN; apply: eq_bigr => o _; rewrite mulrN. Qed.

Lemma expect_sum (I : finType) (X : I -> Omega -> R) : expect (fun o => \sum_i X i o) = \sum_i expect (X i).
Proof. by rewrite exchange_big; apply: eq_bigr => o _; rewrite mulr_sumr. Qed.

Lemma chanceE A : chance A = expect (fun o => (A o)%:R).
Proof. by rewrite /chance big_mkcond; apply: eq_bigr => o _; case: (A o); rewrite ?mulr1 ?mulr0. Qed.

Hypothesis prob : probability.

Lemma expect_const c : expect (fun=> c) = c.
Proof. by have [_ total] := prob; rewrite /expect -mulr_suml total mul1r. Qed.

Lemma ler_expect X Y : (forall o, X o <= Y o) -> expect X <= expect Y.
Proof. by have [P_ge0 _] := prob; move=> le; apply: ler_sum => o _; rewrite ler_wpmul2l. Qed.

Lemma expect_ge0 X : (forall o, 0 <= X o) -> 0 <= expect X.
Proof. by have [P_ge0 _] := prob; move=> ge; apply: sumr_ge0 => o _; rewrite mulr_ge0. Qed.

End Expectation.

(** ** Sums value by value *)
Section Values.

Variables (R : realFieldType) (Omega : finType) (P : Omega -> R) (S : eqType) (X : Omega -> S).

Lemma sum_by_values (V : zmodType) (G : Omega -> V) :
  \sum_o G o = \sum_(s <- undup (codom X)) \sum_(o | X o == s) G o.
Proof.
rewrite (exchange_big_dep xpredT) //=; apply: eq_bigr => o _.
rewrite -big_filter (eq_filter (a2 := pred1 (X o))) => [|s]; last exact: eq_sym.
by rewrite filter_pred1_uniq ?undup_uniq ?mem_undup ?codom_f // big_seq1.
Qed.

Lemma expect_by_values (F : S -> R) :
  expect P (fun o => F (X o)) = \sum_(s <- undup (codom X)) chance P (fun o => X o == s) * F s.
Proof.
rewrite /expect sum_by_values; apply: eq_bigr => s _; rewrite /chance mulr_suml.
by apply: eq_bigr => o /eqP ->.
Qed.

(** Expectation given a variable. *)
Definition conditional_mean (V : lmodType R) (g : Omega -> V) (m : S -> V) : Prop :=
  forall s, \sum_(o | X o == s) P o *: g o = chance P (fun o => X o == s) *: m s.

Theorem expect_conditional (V : lmodType R) (dot : V -> V -> R) (g : Omega -> V) (m phi : S -> V) :
  inner_product dot -> conditional_mean g m ->
  expect P (fun o => dot (phi (X o)) (g o)) = expect P (fun o => dot (phi (X o)) (m (X o))).
Proof.
move=> inner given; rewrite [RHS](expect_by_values (fun s => dot (phi s) (m s))) /expect sum_by_values.
apply: eq_bigr => s _; rewrite -(dotZr inner) -given.
transitivity (\sum_(o | X o == s) dot (phi s) (P o *: g o)); first by apply: eq_bigr => o /eqP ->; rewrite dotZr.
elim/big_rec2: _ => [|o a b _ ->]; last by rewrite dotDr.
by rewrite dotC // (dot0l inner).
Qed.

End Values.

(** What depends on a part of [X] alone has its mean given that part. *)
Lemma coarser_mean (R : realFieldType) (Omega : finType) (P : Omega -> R) (S U : eqType) (X : Omega -> S) (F : S -> U)
    (V : lmodType R) (g : Omega -> V) (m : U -> V) :
  conditional_mean P X g (fun s => m (F s)) -> conditional_mean P (fun o => F (X o)) g m.
Proof.
move=> given y; rewrite /chance scaler_suml big_mkcond [RHS]big_mkcond !(sum_by_values X); apply: eq_bigr => s _.
have [Fs | other] := eqVneq (F s) y; last by rewrite !big1 // => o /eqP ->; rewrite (negbTE other).
transitivity (\sum_(o | X o == s) P o *: g o); first by apply: eq_bigr => o /eqP ->; rewrite Fs eqxx.
rewrite given Fs /chance scaler_suml; apply: eq_bigr => o /eqP ->.
by rewrite Fs eqxx.
Qed.

(** ** Independence *)
Section Independence.

Variables (R : realFieldType) (Omega : finType) (P : Omega -> R) (S U : eqType) (X : Omega -> S) (Y : Omega -> U).

Definition independent : Prop :=
  forall s y, chance P (fun o => (X o == s) && (Y o == y)) =
              chance P (fun o => X o == s) * chance P (fun o => Y o == y).

(** Over [X] first, then over [Y]. *)
Theorem expect_independent (F : S -> U -> R) :
  independent -> expect P (fun o => F (X o) (Y o)) = expect P (fun o' => expect P (fun o => F (X o) (Y o'))).
Proof.
move=> indep; rewrite [RHS](expect_by_values P Y (fun y => expect P (fun o => F (X o) y))).
rewrite /expect (sum_by_values Y); apply: eq_bigr => y _.
rewrite -/(expect P (fun o => F (X o) y)) (expect_by_values P X (F^~ y)) big_distrr /=.
rewrite big_mkcond (sum_by_values X); apply: eq_bigr => s _; rewrite mulrCA mulrA -indep /chance mulr_suml.
rewrite [RHS]big_mkcond [LHS]big_mkcond; apply: eq_bigr => o _ /=.
by do 2?[case: eqP => //= ->].
Qed.

End Independence.

(** Names of the same variables. *)
Lemma eq_independent (R : realFieldType) (Omega : finType) (P : Omega -> R) (S U : eqType) (X X' : Omega -> S)
    (Y : Omega -> U) : (forall o, X o = X' o) -> independent P X' Y -> independent P X Y.
Proof.
move=> same indep s y; have := indep s y; rewrite /chance.
have -> : \sum_(o | X' o == s) P o = \sum_(o | X o == s) P o by apply: eq_bigl => o; rewrite same.
by move=> <-; apply: eq_bigl => o; rewrite same.
Qed.

Lemma eq_conditional_mean (R : realFieldType) (Omega : finType) (P : Omega -> R) (S : eqType) (X X' : Omega -> S)
    (V : lmodType R) (g g' : Omega -> V) (m : S -> V) :
  (forall o, X o = X' o) -> (forall o, g o = g' o) -> conditional_mean P X' g' m -> conditional_mean P X g m.
Proof.
move=> same same_g given s; have := given s; rewrite /chance.
have -> : \sum_(o | X' o == s) P o = \sum_(o | X o == s) P o by apply: eq_bigl => o; rewrite same.
by move=> <-; apply: eq_big => [o | o _]; rewrite ?same ?same_g.
Qed.

(** What follows from [Y] is independent as well. *)
Lemma independent_function (R : realFieldType) (Omega : finType) (P : Omega -> R) (S U U' : eqType)
    (X : Omega -> S) (Y : Omega -> U) (F : U -> U') :
  independent P X Y -> independent P X (fun o => F (Y o)).
Proof.
move=> indep s y; rewrite !chanceE.
rewrite (eq_expect _ (Y := fun o => (X o == s)%:R * (F (Y o) == y)%:R)) => [|o]; last by rewrite -mulnb natrM.
rewrite (expect_independent (fun s' u => (s' == s)%:R * (F u == y)%:R) indep).
by rewrite -expectZ; apply: eq_expect => o; rewrite mulrC -expectZ; apply: eq_expect => o'; rewrite mulrC.
Qed.

(** A constant is independent of everything. *)
Lemma constant_independent (R : realFieldType) (Omega : finType) (P : Omega -> R) (S U : eqType) (s0 : S)
    (Y : Omega -> U) : probability P -> independent P (fun=> s0) Y.
Proof.
move=> prob s y; rewrite !chanceE; rewrite (expect_const prob).
case: (s0 == s); first by rewrite mul1r.
by rewrite mul0r; apply: expect_const.
Qed.

(** ** Random vectors *)
Section MeanSquare.

Variables (R : realFieldType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (dot : V -> V -> R).
Hypotheses (prob : probability P) (inner : inner_product dot).

Definition mean_dot (X Y : {ffun Omega -> V}) : R := expect P (fun o => dot (X o) (Y o)).
Definition mean_square (X : Omega -> V) : R := expect P (fun o => square dot (X o)).

Lemma mean_dot_inner : inner_product mean_dot.
Proof.
split=> [X Y | X Y Z | a X Y | X].
- by apply: eq_expect => o; apply: dotC.
- by rewrite -expectD; apply: eq_expect => o; rewrite ffunE dotDl.
- by rewrite -expectZ; apply: eq_expect => o; rewrite ffunE dotZl.
by apply: expect_ge0 => // o; apply: square_ge0.
Qed.

Lemma mean_square_ge0 X : 0 <= mean_square X.
Proof. by apply: expect_ge0 => // o; apply: square_ge0. Qed.

(** Jensen's inequality, for the mean of workers. *)
Lemma mean_square_mean (W : finType) (X : W -> Omega -> V) (bound : R) :
  (0 < #|W|)%N -> (forall w, mean_square (X w) <= bound) -> mean_square (fun o => mean (X^~ o)) <= bound.
Proof.
move=> workers le; apply: le_trans (ler_expect prob (fun o => square_mean inner workers (X^~ o))) _.
rewrite /mean_value (expectZ P #|W|%:R^-1) expect_sum -/(mean_value (fun w => mean_square (X w))).
by apply: le_trans (ler_mean_value le) _; rewrite mean_value_const.
Qed.

End MeanSquare.

(** Cauchy and Schwarz in the mean square. *)
Theorem mean_cauchy_schwarz (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (dot : V -> V -> R)
    (X Y : Omega -> V) : probability P -> inner_product dot ->
  expect P (fun o => dot (X o) (Y o)) ^+ 2 <= mean_square P dot X * mean_square P dot Y.
Proof.
move=> prob inner; have := cauchy_schwarz (mean_dot_inner prob inner) (finfun X) (finfun Y).
by rewrite /square /mean_dot; congr (_ ^+ 2 <= _ * _); apply: eq_expect => o; rewrite !ffunE.
Qed.

(** Its use: a sum of two random vectors. *)
Lemma mean_square_sum (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (dot : V -> V -> R)
    (X Y : Omega -> V) (c : R) : probability P -> inner_product dot -> 0 <= c ->
  mean_square P dot (fun o => X o + c *: Y o) <=
  (Num.sqrt (mean_square P dot X) + c * Num.sqrt (mean_square P dot Y)) ^+ 2.
Proof.
move=> prob inner c_ge0; pose product := expect P (fun o => dot (X o) (Y o)).
have -> : mean_square P dot (fun o => X o + c *: Y o) =
          mean_square P dot X + 2%:R * c * product + c ^+ 2 * mean_square P dot Y.
  rewrite /product /mean_square -!expectZ -!expectD; apply: eq_expect => o.
  by rewrite squareD // dotZr // squareZ // mulrA.
have X_ge0 := mean_square_ge0 prob inner X; have Y_ge0 := mean_square_ge0 prob inner Y.
rewrite sqrrD exprMn !sqr_sqrtr // ler_add2r ler_add2l.
set rootX := Num.sqrt _; set rootY := Num.sqrt _.
have -> : rootX * (c * rootY) *+ 2 = 2%:R * c * (rootX * rootY) by ring.
rewrite ler_wpmul2l ?mulr_ge0 ?ler0n //; apply: le_trans (ler_norm _) _.
rewrite -ler_sqr ?nnegrE ?mulr_ge0 ?sqrtr_ge0 // real_normK ?num_real // exprMn !sqr_sqrtr //.
exact: mean_cauchy_schwarz.
Qed.

(** ** The root of a mean square is a seminorm *)
Section MeanNorm.

Variables (R : rcfType) (Omega : finType) (P : Omega -> R) (V : zmodType) (N : V -> R).
Hypothesis prob : probability P.
Hypothesis N0 : N 0 = 0.
Hypothesis N_ge0 : forall u, 0 <= N u.
Hypothesis triangle : forall u v, N (u + v) <= N u + N v.

Definition mean_norm (X : {ffun Omega -> V}) : R := Num.sqrt (expect P (fun o => N (X o) ^+ 2)).

Lemma mean_norm_ge0 X : 0 <= mean_norm X.
Proof. exact: sqrtr_ge0. Qed.

Lemma mean_norm_square X : mean_norm X ^+ 2 = expect P (fun o => N (X o) ^+ 2).
Proof. by rewrite sqr_sqrtr // expect_ge0 // => o; apply: sqr_ge0. Qed.

Lemma mean_norm0 : mean_norm 0 = 0.
Proof.
rewrite /mean_norm (eq_expect P (Y := fun=> 0)) => [|o]; last by rewrite ffunE N0 expr0n.
by rewrite (expect_const prob) sqrtr0.
Qed.

(** Minkowski's inequality in the mean square, from that of random numbers. *)
Theorem mean_norm_triangle X Y : mean_norm (X + Y) <= mean_norm X + mean_norm Y.
Proof.
pose times (a b : R^o) : R := a * b.
have times_inner : inner_product times.
  by split=> [a b | a b c | c a b | a]; rewrite /times ?mulrDl ?mulrA ?sqr_ge0 // mulrC.
have length (Z : {ffun Omega -> V}) : mean_norm Z = norm (mean_dot P times) [ffun o => N (Z o) : R^o].
  by congr Num.sqrt; apply: eq_expect => o; rewrite ffunE expr2.
rewrite [mean_norm X]length [mean_norm Y]length.
apply: le_trans (norm_triangle (mean_dot_inner prob times_inner) _ _).
rewrite ler_wsqrtr //; apply: ler_expect => // o; rewrite !ffunE /times -expr2.
by rewrite ler_sqr ?nnegrE ?addr_ge0.
Qed.

End MeanNorm.

(** ** A coordinate that is drawn afresh *)
Section Afresh.

Variables (R : realFieldType) (Omega A : finType) (P : Omega -> R) (law : A -> R).
Variables (get : Omega -> A) (put : Omega -> A -> Omega).

Hypotheses (get_put : forall o c, get (put o c) = c) (put_put : forall o c c', put (put o c) c' = put o c').
Hypotheses (put_get : forall o, put o (get o) = o) (law_prob : probability law).
Hypothesis swap : forall o c, P (put o c) * law (get o) = P o * law c.

Lemma drawn_again (V : lmodType R) (G : Omega -> V) :
  \sum_o P o *: G o = \sum_o P o *: \sum_c law c *: G (put o c).
Proof.
pose h (p : Omega * A) := (put p.1 p.2, get p.1).
have hK : involutive h by move=> [o c]; rewrite /h /= put_put get_put put_get.
transitivity (\sum_(p : Omega * A) (P p.1 * law p.2) *: G (put p.1 p.2)); last first.
  rewrite -(pair_bigA _ (fun o c => (P o * law c) *: G (put o c))); apply: eq_bigr => o _.
  by rewrite scaler_sumr; apply: eq_bigr => c _; rewrite scalerA.
rewrite (reindex_inj (inv_inj hK)) /=.
rewrite -(pair_bigA _ (fun o c => (P (put o c) * law (get o)) *: G (put (put o c) (get o)))) /=.
apply: eq_bigr => o _; have [_ total] := law_prob.
rewrite -[P o]mulr1 -total mulr_sumr scaler_suml; apply: eq_bigr => c _.
by rewrite swap put_put put_get.
Qed.

Lemma expect_again (X : Omega -> R) : expect P X = expect P (fun o => expect law (fun c => X (put o c))).
Proof. exact: (@drawn_again [lmodType R of R^o] X). Qed.

Lemma afresh_independent (S U : eqType) (F : A -> S) (Y : Omega -> U) :
  probability P -> (forall o c, Y (put o c) = Y o) -> independent P (fun o => F (get o)) Y.
Proof.
move=> prob same s y; have law_chance : chance P (fun o => F (get o) == s) = expect law (fun c => (F c == s)%:R).
  rewrite chanceE expect_again (eq_expect P (Y := fun=> expect law (fun c => (F c == s)%:R))) ?expect_const // => o.
  by apply: eq_expect => c; rewrite get_put.
rewrite law_chance !chanceE expect_again -expectZ; apply: eq_expect => o; rewrite mulrC -expectZ.
by apply: eq_expect => c; rewrite get_put same -natrM mulnb andbC.
Qed.

(** A vector whose mean over the coordinate follows from [Y] has that mean given [Y]. *)
Lemma afresh_mean (V : lmodType R) (U : eqType) (Y : Omega -> U) (g : Omega -> V) (m : U -> V) :
  (forall o c, Y (put o c) = Y o) -> (forall o, \sum_c law c *: g (put o c) = m (Y o)) ->
  conditional_mean P Y g m.
Proof.
move=> same mean_g y; pose G o := if Y o == y then g o else 0.
rewrite big_mkcond (eq_bigr (fun o => P o *: G o)) => [|o _]; last by rewrite /G; case: eqP; rewrite ?scaler0.
rewrite drawn_again /chance scaler_suml [RHS]big_mkcond; apply: eq_bigr => o _; rewrite /G.
have [<- | other] := eqVneq (Y o) y; last first.
  by rewrite big1 ?scaler0 // => c _; rewrite same (negbTE other) scaler0.
by congr (_ *: _); rewrite -mean_g; apply: eq_bigr => c _; rewrite same eqxx.
Qed.

End Afresh.
