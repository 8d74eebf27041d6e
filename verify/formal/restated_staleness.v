(** * The listed theorems on staleness, each in one piece

As in [restated]. A state is reachable if every set [P] has it that has the start and, with a state, those one step
later; a set of pairs or tuples is written as a relation. Workers are of a finite type; [c w] is the clock of [w]. *)

From mathcomp Require Import all_ssreflect.
From sparsync Require staleness dynamic_staleness.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** ** Stale and bulk synchronous parallel *)

(** The worker that pushes leads nobody by more than [s]. *)
Theorem ssp_reachableP (W : finType) (s : nat) (c : {ffun W -> nat}) :
  (forall P : {ffun W -> nat} -> Prop, P [ffun=> 0] ->
    (forall c w, P c -> (forall v, c w <= c v + s) -> P [ffun v => c v + (v == w)]) -> P c) <->
  forall w v, c w <= c v + s.+1.
Proof. by rewrite -staleness.ssp_reachableE; apply: staleness.ssp_reachableP. Qed.

Theorem ssp_gap (W : finType) (s : nat) (c : {ffun W -> nat}) (w v : W) :
  (forall P : {ffun W -> nat} -> Prop, P [ffun=> 0] ->
    (forall c w, P c -> (forall v, c w <= c v + s) -> P [ffun v => c v + (v == w)]) -> P c) ->
  c w <= c v + s.+1.
Proof. by move/staleness.ssp_reachableE/staleness.ssp_gap/staleness.lead_le. Qed.

(** Workers in [D] run: they have started, and push as they end. *)
Theorem runs_reach_the_same_clocks (W : finType) (s : nat) (c : {ffun W -> nat}) :
  (forall P : {ffun W -> nat} -> Prop, P [ffun=> 0] ->
    (forall c w, P c -> (forall v, c w <= c v + s) -> P [ffun v => c v + (v == w)]) -> P c) <->
  exists D, forall P : {ffun W -> nat} -> {set W} -> Prop, P [ffun=> 0] set0 ->
    (forall c (D : {set W}) w, P c D -> w \notin D -> (forall v, c w <= c v + s) -> P c (w |: D)) ->
    (forall c (D : {set W}) w, P c D -> w \in D -> P [ffun v => c v + (v == w)] (D :\ w)) -> P c D.
Proof.
rewrite -staleness.ssp_reachableE staleness.runs_reach_the_same_clocks.
by split=> -[D] /staleness.run_reachableE; exists D => //; apply/staleness.run_reachableE.
Qed.

Theorem run_gap (W : finType) (s : nat) (c : {ffun W -> nat}) (D : {set W}) (w v : W) :
  (forall P : {ffun W -> nat} -> {set W} -> Prop, P [ffun=> 0] set0 ->
    (forall c (D : {set W}) w, P c D -> w \notin D -> (forall v, c w <= c v + s) -> P c (w |: D)) ->
    (forall c (D : {set W}) w, P c D -> w \in D -> P [ffun v => c v + (v == w)] (D :\ w)) -> P c D) ->
  c w <= c v + s.+1.
Proof. by move/staleness.run_reachableE/staleness.run_gap/staleness.lead_le. Qed.

(** In round [r] the workers in [D] are done; the next one begins when all are. *)
Theorem ssp0_simulates_bsp (W : finType) (r : nat) (D : {set W}) (w : W) :
  let clocks r (D : {set W}) : {ffun W -> nat} := [ffun w => r + (w \in D)] in
  w \notin D -> exists2 u, forall v, clocks r D u <= clocks r D v
    & (if w |: D == setT then clocks r.+1 set0 else clocks r (w |: D)) = [ffun v => clocks r D v + (v == u)].
Proof.
move=> clocks /(staleness.BspPush r)/staleness.ssp0_simulates_bsp; rewrite /staleness.open fun_if.
rewrite -/(clocks r.+1 set0) -/(clocks r (w |: D)) -/(clocks r D); move: (if _ then _ else _) => c.
by case=> u /staleness.lead_le gate; exists u => // v; have := gate v; rewrite addn0.
Qed.

Theorem bsp_simulates_ssp0 (W : finType) (r : nat) (D : {set W}) (u : W) :
  let clocks r (D : {set W}) : {ffun W -> nat} := [ffun w => r + (w \in D)] in
  (forall P : nat -> {set W} -> Prop, P 0 set0 ->
    (forall r (D : {set W}) w, P r D -> w \notin D -> if w |: D == setT then P r.+1 set0 else P r (w |: D)) -> P r D) ->
  (forall v, clocks r D u <= clocks r D v) -> exists2 w, w \notin D
    & [ffun v => clocks r D v + (v == u)] = if w |: D == setT then clocks r.+1 set0 else clocks r (w |: D).
Proof.
move=> clocks /staleness.bsp_reachableE reached gate.
have started : staleness.may_start 0 (clocks r D) u by apply/staleness.lead_le => v; rewrite addn0.
have [b step same] := staleness.bsp_simulates_ssp0 reached (staleness.SspPush started).
rewrite -/(staleness.push (clocks r D) u) same.
move: step {same}; move E: (r, D) => b0 step; case: b0 b / step E => r' D' w free [-> ->]; exists w => //.
by rewrite /staleness.open /=; case: ifP.
Qed.

Theorem bsp_is_ssp0 (W : finType) (c : {ffun W -> nat}) :
  (forall P : {ffun W -> nat} -> Prop, P [ffun=> 0] ->
    (forall c w, P c -> (forall v, c w <= c v + 0) -> P [ffun v => c v + (v == w)]) -> P c) <->
  exists r (D : {set W}), c = [ffun w => r + (w \in D)] /\ forall P : nat -> {set W} -> Prop, P 0 set0 ->
    (forall r (D : {set W}) w, P r D -> w \notin D -> if w |: D == setT then P r.+1 set0 else P r (w |: D)) -> P r D.
Proof.
rewrite -staleness.ssp_reachableE staleness.bsp_is_ssp0; split=> [[[r D]] | [r [D [-> ]]]] /staleness.bsp_reachableE.
  by move=> reached ->; exists r, D.
by exists (r, D).
Qed.

(** ** Dynamic staleness *)

(** A state of the server: clocks [c], credits [a], times [l] of the last pushes and [b] of those before, workers [H] on
hold. A step: worker [p] pushes at time [t]. *)
Theorem capped_keeps_the_bound (W : finType) (lower extra : nat) (controller : nat -> nat -> nat -> nat)
    (clocks := {ffun W -> nat}) (states := clocks -> clocks -> clocks -> clocks -> {set W} -> Prop)
    (zero : clocks := [ffun=> 0]) (c a l b : clocks) (H : {set W}) (w v : W) :
  let step (P : states) (c a l b : clocks) (H : {set W}) p t :=
    let c' : clocks := [ffun v => c v + (v == p)] in let lead v := \max_u (c' v - c' u) in
    let l' : clocks := [ffun v => if v == p then t else l v] in
    let b' : clocks := [ffun v => if v == p then l p else b v] in
    let slow := [arg min_(v < p) c' v] in
    let answer := controller (l' p - b' p) (l' slow - b' slow) (t - l' slow) in
    let grant := minn answer (lower + extra - lead p) in
    let verdict := if 0 < a p then (true, (a p).-1) else if lead p <= lower then (true, 0)
      else if [forall v, c' v <= c' p] then (0 < grant, grant - 1) else (false, 0) in
    let others := [set v in H | lower < lead v] in
    P c' [ffun v => if v == p then verdict.2 else a v] l' b' (if verdict.1 then others :\ p else p |: others) in
  (forall P : states, P zero zero zero zero set0 ->
    (forall c a l b H p t, P c a l b H -> p \notin H -> (forall v, l v <= t) -> step P c a l b H p t) -> P c a l b H) ->
  c w <= c v + maxn lower.+1 (lower + extra).
Proof.
move=> step reached; pose st := dynamic_staleness.Server c a l b H.
have [pushes made] : exists pushes, dynamic_staleness.reached lower extra controller true pushes st.
  apply/dynamic_staleness.reachedE => P start next.
  apply: (reached (fun c a l b H => P (dynamic_staleness.Server c a l b H)) start) => c1 a1 l1 b1 H1 p t.
  exact: (next (dynamic_staleness.Server c1 a1 l1 b1 H1)).
by have /staleness.lead_le := dynamic_staleness.capped_keeps_the_bound w made; apply.
Qed.

(** With [extra = 0] a controller that answers a closest push answers 0. *)
Theorem equal_bounds_reach_only_ssp (W : finType) (lower : nat) (controller : nat -> nat -> nat -> nat)
    (clocks := {ffun W -> nat}) (states := clocks -> clocks -> clocks -> clocks -> {set W} -> Prop)
    (zero : clocks := [ffun=> 0]) (c a l b : clocks) (H : {set W}) :
  let step (P : states) (c a l b : clocks) (H : {set W}) p t :=
    let c' : clocks := [ffun v => c v + (v == p)] in let lead v := \max_u (c' v - c' u) in
    let l' : clocks := [ffun v => if v == p then t else l v] in
    let b' : clocks := [ffun v => if v == p then l p else b v] in
    let slow := [arg min_(v < p) c' v] in
    let answer := controller (l' p - b' p) (l' slow - b' slow) (t - l' slow) in
    let verdict := if 0 < a p then (true, (a p).-1) else if lead p <= lower then (true, 0)
      else if [forall v, c' v <= c' p] then (0 < answer, answer) else (false, 0) in
    let others := [set v in H | lower < lead v] in
    P c' [ffun v => if v == p then verdict.2 else a v] l' b' (if verdict.1 then others :\ p else p |: others) in
  (forall fast slow since, controller fast slow since = 0) ->
  (forall P : states, P zero zero zero zero set0 ->
    (forall c a l b H p t, P c a l b H -> p \notin H -> (forall v, l v <= t) -> step P c a l b H p t) -> P c a l b H) ->
  forall P : clocks -> Prop, P zero ->
    (forall c w, P c -> (forall v, c w <= c v + lower) -> P [ffun v => c v + (v == w)]) -> P c.
Proof.
move=> step none reached; pose st := dynamic_staleness.Server c a l b H.
have [pushes made] : exists pushes, dynamic_staleness.reached lower 0 controller false pushes st.
  apply/dynamic_staleness.reachedE => P start next.
  apply: (reached (fun c a l b H => P (dynamic_staleness.Server c a l b H)) start) => c1 a1 l1 b1 H1 p t in_P free le_t.
  have := next (dynamic_staleness.Server c1 a1 l1 b1 H1) p t in_P free le_t.
  by rewrite /dynamic_staleness.on_push /dynamic_staleness.verdict subn0.
apply/staleness.ssp_reachableE; apply: dynamic_staleness.equal_bounds_reach_only_ssp made => fast slow since.
by rewrite none; split=> //; exists 0 => // -[|i] // -[].
Qed.

(** Worker [true] pushes at 4, 7, 10, 13, ..., worker [false] at 6, 12, ...: durations 3 from 1 on, and 6 from 0. *)
Theorem printed_has_no_bound (lower extra : nat) (controller : nat -> nat -> nat -> nat) (m : nat)
    (W := bool) (clocks := {ffun W -> nat}) (zero : clocks := [ffun=> 0])
    (states := clocks -> clocks -> clocks -> clocks -> {set W} -> Prop)
    (schedule := flatten [seq [:: (true, 6 * i + 4); (false, 6 * i + 6); (true, 6 * i + 7)] | i <- iota 0 m]) :
  let step (P : states) (c a l b : clocks) (H : {set W}) p t :=
    let c' : clocks := [ffun v => c v + (v == p)] in let lead v := \max_u (c' v - c' u) in
    let l' : clocks := [ffun v => if v == p then t else l v] in
    let b' : clocks := [ffun v => if v == p then l p else b v] in
    let slow := [arg min_(v < p) c' v] in
    let answer := controller (l' p - b' p) (l' slow - b' slow) (t - l' slow) in
    let verdict := if 0 < a p then (true, (a p).-1) else if lead p <= lower then (true, 0)
      else if [forall v, c' v <= c' p] then (0 < answer, answer) else (false, 0) in
    let others := [set v in H | lower < lead v] in
    P c' [ffun v => if v == p then verdict.2 else a v] l' b' (if verdict.1 then others :\ p else p |: others) in
  let distance x y := (x - y) + (y - x) in
  let miss fast slow since i k := distance (since + i * fast) (k.+1 * slow) in
  0 < lower -> 0 < extra ->
  (forall fast slow since, let i := controller fast slow since in i <= extra /\ exists2 k, k <= extra &
    forall i' k', i' <= extra -> k' <= extra -> miss fast slow since i k <= miss fast slow since i' k') ->
  exists (c a l b : clocks) (H : {set W}), c true - c false = m /\
    forall P : seq (W * nat) -> states, P [::] zero zero zero zero set0 ->
    (forall pushes c a l b H p t, P pushes c a l b H -> p \notin H -> (forall v, l v <= t) ->
      step (P (rcons pushes (p, t))) c a l b H p t) -> P schedule c a l b H.
Proof.
move=> step distance miss lower_gt0 extra_gt0 closest.
have [st reached lead] := dynamic_staleness.printed_has_no_bound extra_gt0 closest lower_gt0 m.
exists (dynamic_staleness.clock st), (dynamic_staleness.credit st), (dynamic_staleness.latest st).
exists (dynamic_staleness.previous st), (dynamic_staleness.held st); split; first by rewrite -dynamic_staleness.leadP.
move=> P start next; rewrite /schedule -dynamic_staleness.scheduleE.
elim: reached => // pushes y p t _ in_P free le_t; have := next _ _ _ _ _ _ p t in_P free le_t.
by rewrite /dynamic_staleness.on_push /dynamic_staleness.verdict subn0.
Qed.
