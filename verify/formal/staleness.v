(** * Bounded staleness as a transition system

The state is a clock per worker: the number of iterations it has completed (pushed). Under stale synchronous parallel
with staleness [s] a worker starts an iteration once no other is more than [s] iterations behind it; the gate is before
the iteration, and the clock moves at its end. The lead of [w] is [c w - min c]. Then

- the reachable clocks are exactly those that differ by at most [s + 1]; the lead is at most [s + 1] (the statement
  [ssp_gap] of theory/delay/staleness.py) and, with two workers or more, reaches it;
- the start of an iteration needs no event of its own: where others push meanwhile, the clocks are the same;
- bulk synchronous parallel, a round number and the set of workers that have finished it, is the system with [s = 0]:
  step for step, state for state. *)

From mathcomp Require Import all_ssreflect zify.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Section Reachable.

Variables (State : Type) (step : State -> State -> Prop) (start : State).

Inductive reachable : State -> Prop :=
| reachable_start : reachable start
| reachable_step x y of reachable x & step x y : reachable y.

End Reachable.

Section Clocks.

Variable W : finType.
Implicit Types (c : {ffun W -> nat}) (v w : W) (s : nat).

Definition zero_clocks : {ffun W -> nat} := [ffun=> 0].
Definition push c w : {ffun W -> nat} := [ffun v => c v + (v == w)].

(** The lead [c w - min c]. *)
Definition lead c w : nat := \max_v (c w - c v).

Lemma lead_le c w m : reflect (forall v, c w <= c v + m) (lead c w <= m).
Proof.
apply: (iffP idP) => [/bigmax_leqP le v | le]; first by rewrite -leq_subLR; apply: le.
by apply/bigmax_leqP => v _; rewrite leq_subLR.
Qed.

Lemma pushE c w v : push c w v = c v + (v == w).
Proof. exact: ffunE. Qed.

Lemma push_self c w : push c w w = (c w).+1.
Proof. by rewrite pushE eqxx addn1. Qed.

Lemma push_grows c w v : c v <= push c w v.
Proof. by rewrite pushE leq_addr. Qed.

(** ** Stale synchronous parallel *)

Definition may_start s c w : bool := lead c w <= s.

Inductive ssp_step s c : {ffun W -> nat} -> Prop := SspPush w of may_start s c w : ssp_step s c (push c w).

Definition ssp_reachable s := reachable (ssp_step s) zero_clocks.

Lemma ssp_differ s c : ssp_reachable s c -> forall w v, c w <= c v + s.+1.
Proof.
elim=> [w v | {}c c' _ IH [u /lead_le gate] w v]; first by rewrite !ffunE.
rewrite !pushE; have := IH w v; have := gate v.
by case: (eqVneq w u) => [->|_]; case: (v == u) => /=; lia.
Qed.

Theorem ssp_reachableP s c : ssp_reachable s c <-> forall w v, c w <= c v + s.+1.
Proof.
split; first exact: ssp_differ.
have [total] := ubnP (\sum_w c w); elim: total c => // total IH c; rewrite ltnS => c_total differ.
case: (pickP (fun w => 0 < c w)) => [u0 u0_gt0 | none]; last first.
  suff -> : c = zero_clocks by exact: reachable_start.
  by apply/ffunP => w; rewrite ffunE; have := none w; case: (c w).
have [u u_gt0 c_le_u] : exists2 u, 0 < c u & forall w, c w <= c u.
  by case: (@arg_maxnP _ u0 predT c isT) => u _ le; exists u => [|w]; [apply: leq_trans u0_gt0 (le _ _) | apply: le].
pose before : {ffun W -> nat} := [ffun w => c w - (w == u)].
have beforeE w : before w = c w - (w == u) by rewrite ffunE.
have -> : c = push before u by apply/ffunP => w; rewrite pushE beforeE; case: eqVneq => [->|_] /=; lia.
apply: (@reachable_step _ _ _ before); last first.
  by constructor; apply/lead_le => v; rewrite !beforeE eqxx; have := differ u v; case: eqVneq => [->|_] /=; lia.
apply: IH => [|w v].
  apply: leq_trans c_total; rewrite (bigD1 u) //= [X in _ < X](bigD1 u) //= beforeE eqxx -addSn.
  apply: leq_add; first by rewrite subn1 prednK.
  by apply: leq_sum => w _; rewrite beforeE leq_subr.
rewrite !beforeE; have := differ w v; have := c_le_u w.
by case: (eqVneq w u) => [->|_]; case: (eqVneq v u) => [->|_] /=; lia.
Qed.

Theorem ssp_gap s c w : ssp_reachable s c -> lead c w <= s.+1.
Proof. by move=> /ssp_differ differ; apply/lead_le => v; apply: differ. Qed.

Theorem ssp_gap_attained s w v : v != w -> exists2 c, ssp_reachable s c & lead c w = s.+1.
Proof.
move=> vw; pose c : {ffun W -> nat} := [ffun u => if u == w then s.+1 else 0].
have reached : ssp_reachable s c by apply/ssp_reachableP => u u'; rewrite !ffunE; case: eqP; case: eqP => //= _ _; lia.
exists c => //; apply/anti_leq; rewrite ssp_gap //= (leq_trans _ (leq_bigmax v)) //.
by rewrite !ffunE eqxx (negbTE vw) subn0.
Qed.

(** ** The gate is at the start, the push at the end, and others push meanwhile *)

(** Clocks, and the workers that run an iteration. *)
Inductive run_step s : {ffun W -> nat} * {set W} -> {ffun W -> nat} * {set W} -> Prop :=
| Starts c (D : {set W}) w of w \notin D & may_start s c w : run_step s (c, D) (c, w |: D)
| Ends c (D : {set W}) w of w \in D : run_step s (c, D) (push c w, D :\ w).

Definition run_reachable s := reachable (run_step s) (zero_clocks, set0).

Lemma may_start_stays s c w v : v != w -> may_start s c v -> may_start s (push c w) v.
Proof.
move=> vw /lead_le gate; apply/lead_le => u; rewrite [push c w v]pushE (negbTE vw) addn0.
by apply: leq_trans (gate u) _; rewrite leq_add2r push_grows.
Qed.

Theorem runs_reach_the_same_clocks s c : ssp_reachable s c <-> exists D, run_reachable s (c, D).
Proof.
split=> [reached | [D reached]].
  exists set0; elim: reached => [|{}c c' _ IH [w gate]]; first exact: reachable_start.
  have started : run_reachable s (c, w |: set0) by apply: reachable_step IH _; constructor; rewrite ?inE.
  have -> : set0 = (w |: set0) :\ w by rewrite setU0 setDv.
  by apply: reachable_step started _; constructor; rewrite !inE eqxx.
suff /(_ _ reached) [] : forall x, run_reachable s x ->
    ssp_reachable s x.1 /\ {in x.2, forall w, may_start s x.1 w} by [].
move=> x; elim=> [|y y' _ [IH gates] st]; first by split=> [|w]; [exact: reachable_start | rewrite inE].
case: st IH gates => /= {y y'} [y E w _ gate | y E w wE] IH gates.
  by split=> // v; rewrite !inE => /predU1P[-> | /gates].
split=> [|v]; first by apply: reachable_step IH _; constructor; apply: gates.
by rewrite !inE => /andP[vw vE]; apply: may_start_stays => //; apply: gates.
Qed.

(** So the lead is at most [s + 1] there too, at every moment. *)
Theorem run_gap s c D w : run_reachable s (c, D) -> lead c w <= s.+1.
Proof. by move=> reached; apply: ssp_gap; apply/runs_reach_the_same_clocks; exists D. Qed.

(** ** Bulk synchronous parallel *)

(** A round, and the workers that have finished it; the barrier opens as the last one does. *)
Definition barrier_state : Type := nat * {set W}.
Definition open (b : barrier_state) : barrier_state := if b.2 == setT then (b.1.+1, set0) else b.
Inductive bsp_step : barrier_state -> barrier_state -> Prop :=
  BspPush r (D : {set W}) w of w \notin D : bsp_step (r, D) (open (r, w |: D)).

Definition bsp_reachable := reachable bsp_step (0, set0).
Definition clocks_of (b : barrier_state) : {ffun W -> nat} := [ffun w => b.1 + (w \in b.2)].

Lemma clocks_of_push r (D : {set W}) w : w \notin D -> clocks_of (open (r, w |: D)) = push (clocks_of (r, D)) w.
Proof.
move=> wD; apply/ffunP => v; rewrite pushE !ffunE /open /=.
have joined : (v \in w |: D) = (v \in D) + (v == w) :> nat.
  by rewrite !inE; case: eqVneq => [->|] /=; rewrite ?(negbTE wD) ?addn0.
case: eqP => [all | _] /=; last by rewrite joined addnA.
by rewrite inE -addnA -joined all inE addn0 addn1.
Qed.

Lemma somebody_unfinished w b : bsp_reachable b -> b.2 != setT.
Proof.
have none_done : set0 != setT :> {set W} by apply/eqP => /setP/(_ w); rewrite !inE.
by case=> //= x y _ [r D v _]; rewrite /open /=; case: ifP => //= ->.
Qed.

(** A push of one system is a push of the other, and the states match again. *)
Theorem bsp_simulates_ssp0 b c :
  bsp_reachable b -> ssp_step 0 (clocks_of b) c -> exists2 b', bsp_step b b' & c = clocks_of b'.
Proof.
move=> reached [w /lead_le gate]; case: b reached gate => r D reached gate.
suff wD : w \notin D by exists (open (r, w |: D)); [constructor | rewrite clocks_of_push].
apply: contra (somebody_unfinished w reached) => /= wD; apply/eqP/setP => v; rewrite inE.
by have := gate v; rewrite !ffunE /= wD; case: (v \in D) => //; lia.
Qed.

Theorem ssp0_simulates_bsp b b' : bsp_step b b' -> ssp_step 0 (clocks_of b) (clocks_of b').
Proof.
case=> r D w wD; rewrite clocks_of_push //; constructor; apply/lead_le => v.
by rewrite !ffunE /= (negbTE wD); lia.
Qed.

Lemma clocks_of_start : clocks_of (0, set0) = zero_clocks.
Proof. by apply/ffunP => w; rewrite !ffunE inE. Qed.

Theorem bsp_is_ssp0 c : ssp_reachable 0 c <-> exists2 b, bsp_reachable b & c = clocks_of b.
Proof.
split=> [|[b reached ->]].
  elim=> [|{}c c' _ [b reached ->] st]; first by exists (0, set0); [exact: reachable_start | rewrite clocks_of_start].
  by have [b' st' ->] := bsp_simulates_ssp0 reached st; exists b' => //; apply: reachable_step reached st'.
elim: reached => [|x y _ IH st]; first by rewrite clocks_of_start; apply: reachable_start.
exact: reachable_step IH (ssp0_simulates_bsp st).
Qed.

(** The clocks of a reachable state tell its round and who has finished it. *)
Theorem clocks_of_inj (w : W) b b' : bsp_reachable b -> bsp_reachable b' -> clocks_of b = clocks_of b' -> b = b'.
Proof.
move=> /(somebody_unfinished w) + /(somebody_unfinished w).
case: b b' => [r D] [r' D'] /=; rewrite -!subTset => /subsetPn[u _ uD] /subsetPn[u' _ u'D'] same.
have same_at v : r + (v \in D) = r' + (v \in D') by have /ffunP/(_ v) := same; rewrite !ffunE.
have rr' : r = r' by have := same_at u; have := same_at u'; rewrite (negbTE uD) (negbTE u'D'); lia.
congr pair => //; apply/setP => v; have := same_at v; rewrite rr' => /addnI.
by case: (v \in D); case: (v \in D').
Qed.

End Clocks.

(** ** What is reachable is in every set that has the start and, with a state, those after one step *)

Lemma reachableP (State : Type) (step : State -> State -> Prop) (start x : State) :
  reachable step start x <->
  forall P : State -> Prop, P start -> (forall y z, P y -> step y z -> P z) -> P x.
Proof.
split=> [reached P P0 next | ]; first by elim: reached => // y z _ Py /(next _ _ Py).
by apply=> [|y z]; [exact: reachable_start | exact: reachable_step].
Qed.

Lemma ssp_reachableE (W : finType) (s : nat) (c : {ffun W -> nat}) :
  ssp_reachable s c <->
  forall P : {ffun W -> nat} -> Prop, P [ffun=> 0] ->
    (forall c w, P c -> (forall v, c w <= c v + s) -> P [ffun v => c v + (v == w)]) -> P c.
Proof.
rewrite /ssp_reachable reachableP; split=> reached P P0 next; apply: reached => //.
  by move=> y _ Py [w /lead_le]; apply: next.
by move=> y w Py gate; apply: next Py _; constructor; apply/lead_le.
Qed.

Lemma run_reachableE (W : finType) (s : nat) (c : {ffun W -> nat}) (D : {set W}) :
  run_reachable s (c, D) <->
  forall P : {ffun W -> nat} -> {set W} -> Prop, P [ffun=> 0] set0 ->
    (forall c (D : {set W}) w, P c D -> w \notin D -> (forall v, c w <= c v + s) -> P c (w |: D)) ->
    (forall c (D : {set W}) w, P c D -> w \in D -> P [ffun v => c v + (v == w)] (D :\ w)) -> P c D.
Proof.
rewrite /run_reachable reachableP; split=> [reached P P0 starts ends | reached P P0 next].
  apply: (reached (fun x => P x.1 x.2)) => // y z Py step.
  by case: step Py => {y z} /= [c' D' w free /lead_le gate | c' D' w busy] Py; [apply: starts | apply: ends].
apply: (reached (fun c D => P (c, D))) => // c' D' w Py => [free gate | busy]; apply: next Py _.
  by constructor=> //; apply/lead_le.
by constructor.
Qed.

Lemma bsp_reachableE (W : finType) (r : nat) (D : {set W}) :
  bsp_reachable (r, D) <->
  forall P : nat -> {set W} -> Prop, P 0 set0 ->
    (forall r (D : {set W}) w, P r D -> w \notin D -> if w |: D == setT then P r.+1 set0 else P r (w |: D)) -> P r D.
Proof.
rewrite /bsp_reachable reachableP; split=> [reached P P0 next | reached P P0 next].
  apply: (reached (fun x => P x.1 x.2)) => // y z Py step.
  by case: step Py => {y z} r' D' w free Py; have := next _ _ _ Py free; rewrite /open /=; case: ifP.
apply: (reached (fun r D => P (r, D))) => // r' D' w Py free.
by have := next _ _ Py (BspPush r' free); rewrite /open /=; case: ifP.
Qed.
