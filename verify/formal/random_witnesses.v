(** * There are runs that draw

The hypotheses of the theorems on random compressors and gradients can be met, for every number of steps. The outcomes
are all sequences of a draw and a noise per step, each with its own law and independent of one another. What is drawn or
disturbed at step [t] is a coordinate of the outcome: drawn afresh, it is independent of all that does not change with
it, and the run up to step [t] does not. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import feedback residual descent euclidean witnesses.
From sparsync Require Import probability random_residual random_descent random_variance random_workers.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Sequences of a draw and a noise *)
Section Sequences.

Variables (R : realFieldType) (T : nat) (A B : finType) (draw_law : A -> R) (noise_law : B -> R).
Hypotheses (draw_prob : probability draw_law) (noise_prob : probability noise_law).

Local Notation Omega := {ffun 'I_T -> A * B}.

Definition sequence_law (o : Omega) : R := \prod_t (draw_law (o t).1 * noise_law (o t).2).

Lemma sequence_prob : probability sequence_law.
Proof.
have [[draw_ge0 draw_total] [noise_ge0 noise_total]] := (draw_prob, noise_prob).
split=> [o|]; first by apply: prodr_ge0 => t _; apply: mulr_ge0.
rewrite -(bigA_distr_bigA (fun (_ : 'I_T) (p : A * B) => draw_law p.1 * noise_law p.2)); apply: big1 => t _.
by rewrite -(pair_bigA _ (fun c b => draw_law c * noise_law b)) -big_distrlr /= draw_total noise_total mulr1.
Qed.

Definition put_at (t : 'I_T) (o : Omega) (p : A * B) : Omega := [ffun s => if s == t then p else o s].

Let others (t : 'I_T) (o : Omega) : R := \prod_(s | s != t) (draw_law (o s).1 * noise_law (o s).2).

Lemma sequence_lawE t o : sequence_law o = draw_law (o t).1 * noise_law (o t).2 * others t o.
Proof. by rewrite /sequence_law (bigD1 t). Qed.

Lemma put_at_law t o p : sequence_law (put_at t o p) = draw_law p.1 * noise_law p.2 * others t o.
Proof.
rewrite (sequence_lawE t) ffunE eqxx; congr (_ * _); apply: eq_bigr => s /negbTE st.
by rewrite ffunE st.
Qed.

(** The draw of a step, and its noise, as coordinates. *)
Definition draw_of t (o : Omega) : A := (o t).1.
Definition noise_of t (o : Omega) : B := (o t).2.
Definition put_draw t o c : Omega := put_at t o (c, noise_of t o).
Definition put_noise t o b : Omega := put_at t o (draw_of t o, b).

Lemma put_twice t o p p' : put_at t (put_at t o p) p' = put_at t o p'.
Proof. by apply/ffunP => s; rewrite !ffunE; case: eqP. Qed.

Lemma put_same t o : put_at t o (o t) = o.
Proof. by apply/ffunP => s; rewrite ffunE; case: eqP => [->|]. Qed.

Lemma put_atE t o p : put_at t o p t = p.
Proof. by rewrite ffunE eqxx. Qed.

Lemma draw_coordinate t :
  [/\ forall o c, draw_of t (put_draw t o c) = c, forall o c c', put_draw t (put_draw t o c) c' = put_draw t o c',
      forall o, put_draw t o (draw_of t o) = o
    & forall o c, sequence_law (put_draw t o c) * draw_law (draw_of t o) = sequence_law o * draw_law c].
Proof.
split=> [o c | o c c' | o | o c]; rewrite /draw_of /put_draw /noise_of ?put_atE ?put_twice //.
  by rewrite -surjective_pairing put_same.
by rewrite put_at_law (sequence_lawE t) /=; ring.
Qed.

Lemma noise_coordinate t :
  [/\ forall o b, noise_of t (put_noise t o b) = b, forall o b b', put_noise t (put_noise t o b) b' = put_noise t o b',
      forall o, put_noise t o (noise_of t o) = o
    & forall o b, sequence_law (put_noise t o b) * noise_law (noise_of t o) = sequence_law o * noise_law b].
Proof.
split=> [o c | o c c' | o | o c]; rewrite /noise_of /put_noise /draw_of ?put_atE ?put_twice //.
  by rewrite -surjective_pairing put_same.
by rewrite put_at_law (sequence_lawE t) /=; ring.
Qed.

End Sequences.

(** ** A run *)
Section Run.

Variables (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (W A B : finType) (D : eqType) (T : nat).
Variables (draw_law : A -> R) (noise_law : B -> R) (default : A * B).
Variables (C : W -> nat -> D -> V -> V) (drawn : W -> A -> D) (gradient : W -> B -> V -> V) (grad : V -> V).
Variables (x0 : V) (eta delta : R).

Local Notation Omega := {ffun 'I_T -> A * B}.
Local Notation law := (sequence_law draw_law noise_law).

Definition at_step (t : nat) (o : Omega) : A * B := if insub t is Some s then o s else default.

(** Parameters and residuals. *)
Fixpoint state (t : nat) (o : Omega) : V * {ffun W -> V} :=
  if t is s.+1 then
    let u w := (state s o).2 w + eta *: gradient w (at_step s o).2 (state s o).1 in
    let sent w := C w s (drawn w (at_step s o).1) (u w) in
    ((state s o).1 - mean sent, [ffun w => u w - sent w])
  else (x0, 0).

Definition run_x t o : V := (state t o).1.
Definition run_e w t o : V := (state t o).2 w.
Definition run_g w t o : V := gradient w (at_step t o).2 (run_x t o).
Definition run_draw w t o : D := drawn w (at_step t o).1.

Lemma drawn_run_feeds_back : workers_feed_back C run_draw run_x run_g run_e x0 eta.
Proof. by split=> // [w o | w t o]; rewrite /run_e ffunE. Qed.

Lemma at_stepE t (tT : (t < T)%N) o : at_step t o = o (Ordinal tT).
Proof. by rewrite /at_step insubT. Qed.

(** What comes later does not matter. *)
Lemma state_before t (o o' : Omega) : (forall s : 'I_T, (s < t)%N -> o s = o' s) -> state t o = state t o'.
Proof.
elim: t => // t IH same /=; rewrite IH => [|s st]; last by apply: same; apply: ltnW.
suff -> : at_step t o = at_step t o' by [].
by rewrite /at_step; case: insubP => // s _ st; apply: same; rewrite st.
Qed.

Lemma state_put t (tT : (t < T)%N) o p : state t (put_at (Ordinal tT) o p) = state t o.
Proof. by apply: state_before => s st; rewrite ffunE -val_eqE /= ltn_eqF. Qed.

Hypotheses (draw_prob : probability draw_law) (noise_prob : probability noise_law).

Lemma run_draws_afresh : workers_draw_afresh law run_draw run_g run_e eta T.
Proof.
move=> w t tT; have [get_put put_put put_get swap] := draw_coordinate draw_law noise_law (Ordinal tT).
have prob := sequence_prob T draw_prob noise_prob.
have indep := afresh_independent get_put put_put put_get draw_prob swap (drawn w) prob.
apply: eq_independent (indep _ _ _) => [o | o c]; first by rewrite /run_draw (at_stepE tT).
rewrite /push /run_e /run_g /run_x /put_draw state_put !(at_stepE tT) put_atE.
by [].
Qed.

Lemma run_is_unbiased : (forall y, \sum_b noise_law b *: mean (fun w => gradient w b y) = grad y) ->
  unbiased law grad run_x (mean_residual run_e) (mean_push run_g) T.
Proof.
move=> mean_g t tT; have [get_put put_put put_get swap] := noise_coordinate draw_law noise_law (Ordinal tT).
apply: (afresh_mean get_put put_put put_get noise_prob swap) => [o b | o].
  by rewrite /run_x /mean_residual /run_e /put_noise state_put.
rewrite -mean_g; apply: eq_bigr => b _; congr (_ *: _); apply: eq_mean => w.
by rewrite /run_g /run_x /put_noise state_put (at_stepE tT) put_atE.
Qed.

Lemma worker_is_unbiased w t (local : V -> V) : (forall y, \sum_b noise_law b *: gradient w b y = local y) ->
  (t < T)%N -> conditional_mean law (fun o => (run_x t o, residuals run_e t o)) (run_g w t) (fun at_ => local at_.1).
Proof.
move=> mean_g tT; have [get_put put_put put_get swap] := noise_coordinate draw_law noise_law (Ordinal tT).
apply: (afresh_mean get_put put_put put_get noise_prob swap) => [o b | o].
  by congr (_, _); [|apply/ffunP => v; rewrite !ffunE]; rewrite /run_x /run_e /put_noise state_put.
rewrite -mean_g; apply: eq_bigr => b _; congr (_ *: _).
by rewrite /run_g /run_x /put_noise state_put (at_stepE tT) put_atE.
Qed.

(** What is drawn at a step has the law of a draw. *)
Lemma run_draw_law w t (F : D -> R) : (t < T)%N ->
  expect law (fun o => F (run_draw w t o)) = expect draw_law (fun c => F (drawn w c)).
Proof.
move=> tT; have [get_put put_put put_get swap] := draw_coordinate draw_law noise_law (Ordinal tT).
rewrite (expect_again get_put put_put put_get draw_prob swap).
rewrite (eq_expect _ (Y := fun=> expect draw_law (fun c => F (drawn w c)))) => [|o].
  by rewrite expect_const //; apply: sequence_prob.
by apply: eq_expect => c; rewrite /run_draw (at_stepE tT) /put_draw put_atE.
Qed.

Lemma run_contracts :
  (forall w t v, mean_square draw_law dot (fun c => v - C w t (drawn w c) v) <= (1 - delta) * square dot v) ->
  workers_contract law dot C run_draw delta T.
Proof.
by move=> contr w t v tT; rewrite /mean_square (run_draw_law w (fun d => square dot (v - C w t d v)) tT); apply: contr.
Qed.

(** On a finite space some number bounds all second moments. *)
Lemma run_has_second_moments : inner_product dot ->
  exists2 sigma2, 0 <= sigma2 & second_moments law dot run_g sigma2 T.
Proof.
move=> inner; have prob := sequence_prob T draw_prob noise_prob.
pose moment w t := mean_square law dot (run_g w t).
have moment_ge0 w t : 0 <= moment w t by apply: mean_square_ge0.
exists (\sum_w \sum_(t : 'I_T) moment w t) => [|w t tT]; first by do 2?[apply: sumr_ge0 => ? _].
rewrite (bigD1 w) //= (bigD1 (Ordinal tT)) //= -addrA ler_addl addr_ge0 //.
  by apply: sumr_ge0.
by do 2?[apply: sumr_ge0 => ? _].
Qed.

End Run.

(** ** Rand-k, and gradients with two values *)
Section RandomK.

Variables (R : rcfType) (I W : finType) (k : nat) (L : R).
Local Notation vector := {ffun I -> R^o}.
Local Notation dot := (@dot R I).

Definition uniform_law (S : {set I}) : R := if #|S| == k then 'C(#|I|, k)%:R^-1 else 0.
Definition coin_law (side : bool) : R := 2%:R^-1.

Lemma uniform_prob : (k <= #|I|)%N -> probability uniform_law.
Proof.
move=> kd; split=> [S|]; first by rewrite /uniform_law; case: ifP; rewrite ?invr_ge0 ?ler0n.
rewrite -big_mkcond sumr_const /= -(@card_draws I k) cardsE -[_ *+ _]mulr_natr mulVf //.
by rewrite -cardsE card_draws pnatr_eq0 -lt0n bin_gt0.
Qed.

Lemma coin_prob : probability coin_law.
Proof.
split=> [s|]; first by rewrite invr_ge0 ler0n.
by rewrite big_bool /= /coin_law -mulr2n -[_ *+ 2]mulr_natr mulVf // pnatr_eq0.
Qed.

Variables (pull noise : W -> vector).

(** The gradient of [L / 2 |y|^2], a pull of the worker's own, and a noise whose sign a coin decides. *)
Definition tossed_gradient (w : W) (side : bool) (y : vector) : vector :=
  quadratic_local L pull w y + (if side then noise w else - noise w).

Lemma tossed_mean (y : vector) : (0 < #|W|)%N -> mean pull = 0 ->
  \sum_side coin_law side *: mean (fun w => tossed_gradient w side y) = quadratic_grad L y.
Proof.
move=> workers balanced; rewrite big_bool /= -scalerDr -meanD.
rewrite (@eq_mean _ _ _ _ (fun w => 2%:R *: quadratic_local L pull w y)) => [|w]; last first.
  by rewrite /tossed_gradient addrACA subrr addr0 scaler_nat mulr2n.
rewrite meanZ scalerA mulVf ?pnatr_eq0 // scale1r.
by rewrite -(quadratic_mean_gradient L workers balanced y).
Qed.

(** All hypotheses of the rates of smooth functions, for every start and any number of steps. *)
Theorem random_k_rates_have_runs (eta : R) (x0 : vector) (T : nat) :
  (0 < #|W|)%N -> (0 < k)%N -> (k <= #|I|)%N -> 0 < L -> mean pull = 0 ->
  let f := quadratic dot L in let grad := quadratic_grad L in
  [/\ smooth dot f grad L, lipschitz dot grad L & bounded_below f 0] /\
  exists (Omega : finType) (P : Omega -> R) (draw : W -> nat -> Omega -> {set I}) (x : nat -> Omega -> vector)
    (g e : W -> nat -> Omega -> vector) (sigma2 : R),
    [/\ probability P, 0 <= sigma2, workers_feed_back (fun _ _ => @payload_on R I) draw x g e x0 eta,
        forall w t, (t < T)%N -> drawn_uniformly P k (draw w t)
      & [/\ workers_contract P dot (fun _ _ => @payload_on R I) draw (density R I k) T,
            workers_draw_afresh P draw g e eta T, second_moments P dot g sigma2 T
          & unbiased P grad x (mean_residual e) (mean_push g) T]].
Proof.
move=> workers k_gt0 kd L_gt0 balanced f grad; have inner := @dot_inner R I; have L_ge0 := ltW L_gt0.
split; first by split; [exact: quadratic_smooth | exact: quadratic_lipschitz | exact: quadratic_bounded_below].
have d_gt0 := leq_trans k_gt0 kd; have drawn_prob := uniform_prob kd.
pose C (_ : W) (_ : nat) := @payload_on R I; pose drawn (_ : W) (S : {set I}) := S.
have uniform : drawn_uniformly uniform_law k (fun S => S) by move=> S; rewrite /chance big_pred1_eq.
have [sigma2 sigma2_ge0 moments] :=
  @run_has_second_moments _ _ _ _ _ _ _ T _ _ (set0, true) C drawn tossed_gradient x0 eta drawn_prob coin_prob inner.
exists [finType of {ffun 'I_T -> {set I} * bool}], (sequence_law uniform_law coin_law).
exists (run_draw (set0, true) drawn), (run_x (set0, true) C drawn tossed_gradient x0 eta).
exists (run_g (set0, true) C drawn tossed_gradient x0 eta), (run_e (set0, true) C drawn tossed_gradient x0 eta).
exists sigma2; split=> //.
- exact: sequence_prob drawn_prob coin_prob.
- exact: drawn_run_feeds_back.
- move=> w t tT S; rewrite chanceE.
  rewrite (run_draw_law (set0, true) drawn drawn_prob coin_prob w (fun S' => (S' == S)%:R) tT).
  by rewrite -(chanceE _ (fun S' => S' == S)) uniform.
split=> //.
- apply: run_contracts => // [|w t v]; first exact: coin_prob.
  by rewrite /mean_square (random_k_keeps_back v d_gt0 kd uniform).
- by apply: run_draws_afresh => //; apply: coin_prob.
by apply: run_is_unbiased => // [|y]; [exact: coin_prob | exact: tossed_mean].
Qed.

(** All hypotheses of the rate of workers with functions of their own, with noises that are orthogonal. *)
Theorem random_k_workers_have_runs (eta : R) (x0 : vector) (T : nat) :
  (0 < #|W|)%N -> (0 < k)%N -> (k <= #|I|)%N -> 0 < L -> mean pull = 0 ->
  (forall v w, v != w -> dot (noise v) (noise w) = 0) ->
  let grad := quadratic_grad L in let local := quadratic_local L pull in
  [/\ mean_gradient grad local, smooth dot (quadratic dot L) grad L, lipschitz dot grad L
    & bounded_below (quadratic dot L) 0] /\
  exists (Omega : finType) (P : Omega -> R) (draw : W -> nat -> Omega -> {set I}) (x : nat -> Omega -> vector)
    (g e : W -> nat -> Omega -> vector) (variance zeta2 : R),
    [/\ probability P, 0 <= zeta2, workers_feed_back (fun _ _ => @payload_on R I) draw x g e x0 eta,
        workers_contract P dot (fun _ _ => @payload_on R I) draw (density R I k) T
      & [/\ workers_draw_afresh P draw g e eta T, bounded_variances P dot local x g variance T,
            uncorrelated P dot local x g T, unbiased_workers P local x g e T
          & heterogeneous_on_the_way dot grad local x zeta2 T]].
Proof.
move=> workers k_gt0 kd L_gt0 balanced orthogonal grad local; have inner := @dot_inner R I.
have L_ge0 := ltW L_gt0; have d_gt0 := leq_trans k_gt0 kd; have drawn_prob := uniform_prob kd.
split; first by split; [exact: quadratic_mean_gradient | exact: quadratic_smooth | exact: quadratic_lipschitz |
  exact: quadratic_bounded_below].
pose C (_ : W) (_ : nat) := @payload_on R I; pose drawn (_ : W) (S : {set I}) := S.
have uniform : drawn_uniformly uniform_law k (fun S => S) by move=> S; rewrite /chance big_pred1_eq.
have prob := @sequence_prob R T _ _ _ _ drawn_prob coin_prob.
pose position := @run_x R _ W _ _ _ T (set0, true) C drawn tossed_gradient x0 eta.
pose toss := @run_g R _ W _ _ _ T (set0, true) C drawn tossed_gradient x0 eta.
have noiseE w t o : random_workers.noise local position toss w t o = noise w \/
                    random_workers.noise local position toss w t o = - noise w.
  rewrite /random_workers.noise /toss /run_g -/(position t o) /tossed_gradient addrC addKr.
  by case: (at_step _ _ _).2; [left | right].
exists [finType of {ffun 'I_T -> {set I} * bool}], (sequence_law uniform_law coin_law).
exists (run_draw (set0, true) drawn), position, toss, (run_e (set0, true) C drawn tossed_gradient x0 eta).
exists (\sum_w square dot (noise w)), (pull_square dot pull); split=> //.
- by apply: mean_value_ge0 => w; apply: square_ge0.
- exact: drawn_run_feeds_back.
- apply: run_contracts => // [|w t v]; first exact: coin_prob.
  by rewrite /mean_square (random_k_keeps_back v d_gt0 kd uniform).
split=> [|w t _|v w t _ vw|w t tT|t o _].
- by apply: run_draws_afresh => //; apply: coin_prob.
- rewrite -[X in _ <= X](expect_const prob); apply: ler_expect => // o; rewrite (bigD1 w) //=.
  have -> : square dot (random_workers.noise local position toss w t o) = square dot (noise w).
    by case: (noiseE w t o) => ->; rewrite // /square dotNl // dotNr // opprK.
  by rewrite ler_addl sumr_ge0 // => v _; apply: square_ge0.
- rewrite -(expect_const prob 0); apply: eq_expect => o.
  by case: (noiseE v t o) => ->; case: (noiseE w t o) => ->; rewrite ?dotNl ?dotNr ?orthogonal ?oppr0.
- apply: worker_is_unbiased tT => [|y]; first exact: coin_prob.
  by rewrite big_bool /= -scalerDr /tossed_gradient addrACA subrr addr0 -mulr2n -scaler_nat scalerA mulVf ?scale1r
    ?pnatr_eq0.
exact: quadratic_heterogeneous.
Qed.

End RandomK.

(** ** One worker *)
Section OneWorker.

Variables (R : rcfType) (I : finType) (k : nat) (L eta : R) (noise x0 : {ffun I -> R^o}) (T : nat).
Hypotheses (k_gt0 : (0 < k)%N) (kd : (k <= #|I|)%N) (L_gt0 : 0 < L).
Local Notation vector := {ffun I -> R^o}.
Local Notation dot := (@dot R I).
Local Notation grad := (quadratic_grad L).

Let runs := @random_k_rates_have_runs R I [finType of unit] k L (fun=> 0) (fun=> noise) eta x0 T.

Lemma one_worker_mean (V : lmodType R) (v : unit -> V) : mean v = v tt.
Proof. by rewrite /mean card_unit invr1 scale1r (bigD1 tt) //= big1 ?addr0 // => [[]]. Qed.

(** All hypotheses of the bounds on the residual, with Rand-k. *)
Theorem random_k_residual_has_runs : exists (Omega : finType) (P : Omega -> R) (draw : nat -> Omega -> {set I})
    (g e : nat -> Omega -> vector) (sigma2 : R),
  [/\ probability P, 0 <= sigma2, random_residual.feeds_back (fun=> @payload_on R I) draw g e eta,
      forall t, (t < T)%N -> drawn_uniformly P k (draw t)
    & [/\ contracts_before P (norm dot) (fun=> @payload_on R I) draw (density R I k) T,
          draws_afresh_before P draw g e eta T & second_moment_before P (norm dot) g sigma2 T]].
Proof.
have inner := @dot_inner R I; have workers : (0 < #|[finType of unit]|)%N by rewrite card_unit.
have [_ [Omega [P [draw [x [g [e [sigma2 [prob s_ge0 feeds uniform [contr fresh moments _]]]]]]]]]] :=
  runs workers k_gt0 kd L_gt0 (no_pull _ _).
exists Omega, P, (draw tt), (g tt), (e tt), sigma2; split=> // [|t tT|].
- by have [_ e0 e_next _] := feeds; split=> [o | t o]; [exact: e0 | exact: e_next].
- exact: uniform.
split=> [s sT | s sT | s sT].
- by apply: random_k_contracts (uniform tt s sT) => //; apply: leq_trans kd.
- exact: fresh.
by rewrite mean_square_norm //; apply: moments.
Qed.

(** All hypotheses of the rate with bounded variance. *)
Theorem random_k_variance_has_runs :
  [/\ smooth dot (quadratic dot L) grad L, lipschitz dot grad L & bounded_below (quadratic dot L) 0] /\
  exists (Omega : finType) (P : Omega -> R) (draw : nat -> Omega -> {set I}) (x g e : nat -> Omega -> vector)
    (variance : R),
  [/\ probability P, feeds_back_from (fun=> @payload_on R I) draw x g e x0 eta,
      forall t, (t < T)%N -> drawn_uniformly P k (draw t)
    & [/\ contracts_in_square P dot (fun=> @payload_on R I) draw (density R I k) T, draws_afresh P draw g e eta T,
          bounded_variance P dot grad x g variance T & unbiased P grad x e g T]].
Proof.
have inner := @dot_inner R I; have workers : (0 < #|[finType of unit]|)%N by rewrite card_unit.
have [rules [Omega [P [draw [x [g [e [sigma2 [prob s_ge0 feeds uniform [contr fresh moments unb]]]]]]]]]] :=
  runs workers k_gt0 kd L_gt0 (no_pull _ _).
split=> //; pose scatter t := mean_square P dot (random_variance.noise grad x (g tt) t).
have scatter_ge0 t : 0 <= scatter t by apply: mean_square_ge0.
exists Omega, P, (draw tt), x, (g tt), (e tt), (\sum_(t : 'I_T) scatter t); split=> // [|t tT|].
- have [x_start e0 e_next x_next] := feeds; split=> [//|o|t o|t o]; [exact: e0 | exact: e_next |].
  by rewrite x_next one_worker_mean.
- exact: uniform.
split=> [t v tT | t tT | t tT | t tT].
- exact: contr.
- exact: fresh.
- by rewrite (bigD1 (Ordinal tT)) //= ler_addl sumr_ge0.
by apply: eq_conditional_mean (unb t tT) => o; rewrite ?/mean_residual ?/mean_push one_worker_mean.
Qed.

End OneWorker.
