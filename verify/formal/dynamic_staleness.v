(** * Dynamic staleness: the printed algorithm has no bound, a capped one has

Dynamic stale synchronous parallel (Zhao et al. 2019, the server's algorithm as printed, as we understand it): bounds
[lower] and [lower + extra] on the staleness. On a push of [p], a credit of [p] is used up by one and [p] is
released; without credit [p] is released if its lead is at most [lower]; else, if [p] is the fastest, its credit becomes
the controller's answer and it is released if that is positive; otherwise it is held until its lead is at most [lower].
The controller assumes that [p] and the slowest worker keep the intervals between their latest two pushes, and answers
the number, at most [extra], of further iterations after which [p] would push closest to a push of the slowest. Then

- whatever the bounds ([lower >= 1], [extra >= 1]) and however the controller breaks ties, two workers with constant
  durations 3 and 6 reach every lead: the printed algorithm never compares the lead with the upper bound;
- if an answer is cut to what the upper bound leaves, and the release that grants it uses it up by one, the lead is at
  most [max (lower + 1) (lower + extra)], and all clocks are clocks of stale synchronous parallel with the upper bound;
- with [extra = 0] the printed algorithm, too, only reaches clocks of stale synchronous parallel. *)

From mathcomp Require Import all_ssreflect zify.
From sparsync Require Import staleness.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

(** ** The server *)
Section Dynamic.

Variable W : finType.
Implicit Types (c : {ffun W -> nat}) (p v w : W) (t : nat).

Variables (lower extra : nat).

(** The controller: interval of [p], interval of the slowest, time since the push of the slowest. *)
Variable controller : nat -> nat -> nat -> nat.

Definition apart (m n : nat) : nat := (m - n) + (n - m).

(** From the time of the slowest worker's push: [i] more pushes of [p], and the slowest worker's push [k + 1]. *)
Definition miss interval slow_interval since i k : nat := apart (since + i * interval) (k.+1 * slow_interval).

Definition answers_closest : Prop := forall interval slow_interval since,
  let answer := controller interval slow_interval since in
  answer <= extra /\ exists2 k, k <= extra & forall i' k', i' <= extra -> k' <= extra ->
    miss interval slow_interval since answer k <= miss interval slow_interval since i' k'.

(** Clocks, credits, times of the latest two pushes, workers on hold. *)
Record server := Server {
  clock : {ffun W -> nat}; credit : {ffun W -> nat}; latest : {ffun W -> nat}; previous : {ffun W -> nat};
  held : {set W} }.

Definition first_state : server := Server [ffun=> 0] [ffun=> 0] [ffun=> 0] [ffun=> 0] set0.

Definition put (T : Type) (f : {ffun W -> T}) p (x : T) : {ffun W -> T} := [ffun v => if v == p then x else f v].

Definition slowest c p : W := [arg min_(v < p) c v].
Definition fastest c p : bool := [forall v, c v <= c p].

Definition answer_at (st : server) p t : nat :=
  let v := slowest (push (clock st) p) p in
  let latest' := put (latest st) p t in
  let previous' := put (previous st) p (latest st p) in
  controller (latest' p - previous' p) (latest' v - previous' v) (t - latest' v).

(** As printed, or with the answer cut to what the upper bound leaves and the granting release charged. *)
Variable capped : bool.

Definition granted (st : server) p t : nat :=
  if capped then minn (answer_at st p t) (lower + extra - lead (push (clock st) p) p) else answer_at st p t.

(** Is [p] released, and with which credit? *)
Definition verdict (st : server) p t : bool * nat :=
  let c := push (clock st) p in
  if 0 < credit st p then (true, (credit st p).-1)
  else if lead c p <= lower then (true, 0)
  else if fastest c p then (0 < granted st p t, granted st p t - capped)
  else (false, 0).

Definition on_push (st : server) p t : server :=
  let c := push (clock st) p in
  let others := [set v in held st | lower < lead c v] in
  Server c (put (credit st) p (verdict st p t).2) (put (latest st) p t) (put (previous st) p (latest st p))
         (if (verdict st p t).1 then others :\ p else p |: others).

(** Pushes come in the order of time, from workers that are not on hold. *)
Inductive reached : seq (W * nat) -> server -> Prop :=
| ReachedFirst : reached [::] first_state
| ReachedPush pushes st p t of reached pushes st & p \notin held st & (forall v, latest st v <= t) :
    reached (rcons pushes (p, t)) (on_push st p t).

Lemma putE (T : Type) (f : {ffun W -> T}) p x v : put f p x v = if v == p then x else f v.
Proof. exact: ffunE. Qed.

End Dynamic.

(** There is such a controller. *)
Lemma closest_exists extra : exists controller, answers_closest extra controller.
Proof.
pose best interval slow_interval since : 'I_extra.+1 * 'I_extra.+1 :=
  [arg min_(x < (ord0, ord0)) miss interval slow_interval since x.1 x.2].
exists (fun a b s => (best a b s).1) => a b s; split; first by rewrite -ltnS.
exists (best a b s).2; first by rewrite -ltnS.
move=> i k; rewrite -ltnS => i_le; rewrite -ltnS => k_le; rewrite /best.
by case: arg_minnP => // x _ /(_ (Ordinal i_le, Ordinal k_le)); apply.
Qed.

(** ** The cap keeps the bound *)

Definition capped_gap (lower extra : nat) : nat := maxn lower.+1 (lower + extra).

Section Capped.

Variables (W : finType) (lower extra : nat) (controller : nat -> nat -> nat -> nat) (capped : bool).

Local Notation verdict := (verdict lower extra controller capped).
Local Notation granted := (granted lower extra controller capped).
Local Notation on_push := (on_push lower extra controller capped).
Local Notation reached := (@reached W lower extra controller capped).

Local Notation bound := (capped_gap lower extra).

(** Iterations that [p] may still complete before it is checked again. *)
Definition unchecked (st : server W) p : nat := if p \in held st then 0 else (credit st p).+1.

Definition within_bound (st : server W) : Prop :=
  {in held st, forall p, credit st p = 0} /\ forall p v, clock st p + unchecked st p <= clock st v + bound.

Lemma lower_lt_bound : lower < bound.
Proof. by rewrite /capped_gap leq_max leqnn. Qed.

Lemma lead_within c (p v : W) : lead c p <= lower -> c p + 1 <= c v + bound.
Proof. by move=> /lead_le/(_ v); have := lower_lt_bound; lia. Qed.

(** The answers are capped, or there are none. *)
Hypothesis limited : capped \/ forall interval slow_interval since, controller interval slow_interval since = 0.

Lemma granted_fits (st : server W) p t :
  0 < granted st p t -> capped /\ granted st p t <= lower + extra - lead (push (clock st) p) p.
Proof.
rewrite /dynamic_staleness.granted; case: limited => [-> _ | none]; first by split=> //; apply: geq_minr.
by case: capped; rewrite /answer_at none ?min0n.
Qed.

Lemma verdict_within st p t v :
  within_bound st -> p \notin held st ->
  push (clock st) p p + (if (verdict st p t).1 then (verdict st p t).2.+1 else 0) <= push (clock st) p v + bound.
Proof.
move=> [_ /(_ p v)]; rewrite /unchecked => near /negbTE free; rewrite free in near.
have grown := push_grows (clock st) p v; rewrite /dynamic_staleness.verdict.
case: (ltnP 0 (credit st p)) => [positive | _] /=; first by rewrite push_self; lia.
case: (leqP (lead _ _) lower) => [/(lead_within v) // | _] /=.
case: (fastest _ _) => /=; last by rewrite push_self; lia.
have /lead_le/(_ v) := leqnn (lead (push (clock st) p) p).
have bound_ge : lower + extra <= bound by rewrite /capped_gap leq_maxr.
have := @granted_fits st p t; move: (granted st p t) => g fits behind.
have pushed := push_self (clock st) p.
by case: (posnP g) fits => [-> | g_gt0 /(_ isT)[-> fits]] /=; lia.
Qed.

Lemma held_without_credit (st : server W) p t : (verdict st p t).1 = false -> (verdict st p t).2 = 0.
Proof.
rewrite /dynamic_staleness.verdict; case: (0 < _) => //; case: (_ <= lower) => //; case: (fastest _ _) => //=.
by case: (granted st p t).
Qed.

Lemma on_push_within_bound st p t : within_bound st -> p \notin held st -> within_bound (on_push st p t).
Proof.
move=> within free; have [idle near] := within.
have still_held q : q != p -> q \in held (on_push st p t) = (q \in held st) && (lower < lead (push (clock st) p) q).
  by move=> qp; rewrite /dynamic_staleness.on_push /=; case: ifP; rewrite !inE ?(negbTE qp) ?qp.
have self_held : p \in held (on_push st p t) = ~~ (verdict st p t).1.
  by rewrite /dynamic_staleness.on_push /=; case: ifP; rewrite !inE eqxx.
split=> [q | q v].
  rewrite /= putE; case: (eqVneq q p) => [-> | qp]; first by rewrite self_held => /negbTE/held_without_credit.
  by rewrite still_held // => /andP[/idle].
rewrite /unchecked; case: (eqVneq q p) => [-> | qp].
  by rewrite self_held /= putE eqxx; have := verdict_within t v within free; case: ((verdict st p t).1).
rewrite still_held //= putE (negbTE qp); have := near q v; have := push_grows (clock st) p v.
rewrite /unchecked; case: (boolP (q \in held st)) => /= [/idle -> | _]; last first.
  by rewrite [push _ _ q]pushE (negbTE qp); lia.
case: ltnP => [_ | near_q]; first by rewrite [push _ _ q]pushE (negbTE qp); lia.
by move=> _ _; apply: lead_within.
Qed.

Lemma limited_keeps_the_bound pushes st p : reached pushes st -> lead (clock st) p <= capped_gap lower extra.
Proof.
move=> reach; suff [_ near] : within_bound st.
  by apply/lead_le => v; apply: leq_trans (near p v); rewrite leq_addr.
elim: reach => [|{}pushes {}st q t _ IH free _]; last exact: on_push_within_bound.
split=> [q | q v]; first by rewrite inE.
by rewrite /unchecked /= !ffunE inE; have := lower_lt_bound; lia.
Qed.

End Capped.

Theorem capped_keeps_the_bound (W : finType) lower extra controller pushes (st : server W) p :
  reached lower extra controller true pushes st -> lead (clock st) p <= capped_gap lower extra.
Proof. by apply: limited_keeps_the_bound; left. Qed.

(** Sharp for [extra <= 1]: a worker that pushes alone is released up to the lead [lower] and pushes once more. *)
Lemma lower_lead_attained (W : finType) lower extra controller capped (w v : W) : v != w ->
  exists pushes st, reached lower extra controller capped pushes st /\ lead (clock st) w = lower.+1.
Proof.
move=> vw; pose alone m : {ffun W -> nat} := [ffun u => if u == w then m else 0].
have lead_alone m : lead (alone m) w = m.
  apply/anti_leq/andP; split; first by apply/lead_le => u; rewrite !ffunE eqxx; lia.
  by apply: leq_trans (leq_bigmax v); rewrite !ffunE eqxx (negbTE vw) subn0.
suff run m : m <= lower.+1 -> exists pushes st, [/\ reached lower extra controller capped pushes st,
    clock st = alone m, forall u, latest st u = 0 & m <= lower -> held st = set0 /\ credit st w = 0].
  by have [pushes [st [reach clock_st _ _]]] := run _ (leqnn _); exists pushes, st; rewrite clock_st.
elim: m => [_ | m IH m_le].
  exists [::], (first_state W); split=> [|||_]; [exact: ReachedFirst | | by move=> u; rewrite ffunE | by rewrite ffunE].
  by apply/ffunP => u; rewrite !ffunE if_same.
have [pushes [st [reach clock_st latest_st /(_ m_le)[free idle]]]] := IH (ltnW m_le).
have pushed : push (clock st) w = alone m.+1.
  by apply/ffunP => u; rewrite pushE clock_st !ffunE; case: eqP; rewrite ?addn1.
exists (rcons pushes (w, 0)), (on_push lower extra controller capped st w 0); split=> //=.
- by constructor; rewrite ?free ?inE // => u; rewrite latest_st.
- by move=> u; rewrite putE latest_st if_same.
move=> near; rewrite putE eqxx /verdict idle pushed lead_alone near /=; split=> //.
by apply/setP => u; rewrite !inE free inE andbF.
Qed.

Corollary capped_reaches_only_ssp (W : finType) lower extra controller pushes (st : server W) :
  reached lower extra controller true pushes st -> ssp_reachable (lower + extra) (clock st).
Proof.
move=> reach; apply/ssp_reachableP => w; apply/lead_le; apply: leq_trans (capped_keeps_the_bound w reach) _.
by rewrite geq_max leqnSn ltnS leq_addr.
Qed.

(** If the two bounds agree, the printed algorithm is stale synchronous parallel. *)
Theorem equal_bounds_reach_only_ssp (W : finType) lower controller pushes (st : server W) :
  answers_closest 0 controller -> reached lower 0 controller false pushes st -> ssp_reachable lower (clock st).
Proof.
move=> closest reach; apply/ssp_reachableP => w; apply/lead_le.
have none interval slow_interval since : controller interval slow_interval since = 0.
  by apply/eqP; rewrite -leqn0; case: (closest interval slow_interval since).
by have := limited_keeps_the_bound (or_intror none) w reach; rewrite /capped_gap addn0 (maxn_idPl (leqnSn _)).
Qed.

(** ** The printed algorithm has no bound *)
Local Notation fast := true (only parsing).
Local Notation slow := false (only parsing).

Lemma slowest_slow (c : {ffun bool -> nat}) : c slow < c fast -> slowest c fast = slow.
Proof.
by move=> behind; rewrite /slowest; case: arg_minnP => // -[] // _ /(_ slow isT); rewrite leqNgt behind.
Qed.

Lemma leadP (c : {ffun bool -> nat}) p : lead c p = c p - c (~~ p).
Proof. by rewrite /lead big_bool; case: p => /=; lia. Qed.

Section Printed.

Variables (lower extra : nat) (controller : nat -> nat -> nat -> nat).
Hypotheses (extra_gt0 : 0 < extra) (closest : answers_closest extra controller).

Local Notation verdict := (verdict lower extra controller false).
Local Notation on_push := (on_push lower extra controller false).
Local Notation reached := (@reached _ lower extra controller false).

(** The fast worker starts at time 1 and takes 3, the slow one starts at time 0, its first stamp, and takes 6. With
[lower >= 2] the controller is first asked when both have pushed twice. *)
Fixpoint schedule (m : nat) : seq (bool * nat) :=
  if m is m'.+1 then rcons (rcons (rcons (schedule m') (fast, 6 * m' + 4)) (slow, 6 * m' + 6)) (fast, 6 * m' + 7)
  else [::].

Lemma answer_positive since : since = 1 \/ since = 4 -> 0 < controller 3 6 since.
Proof.
move=> cases; have [_ [k _]] := closest 3 6 since.
move=> /(_ 1 0 extra_gt0 (leq0n _)); case: (controller 3 6 since) => //.
by rewrite /miss /apart; case: cases => ->; lia.
Qed.

Lemma fast_released st t :
  clock st slow <= clock st fast -> latest st slow - previous st slow = 6 -> t - latest st fast = 3 ->
  t - latest st slow = 1 \/ t - latest st slow = 4 -> (verdict st fast t).1.
Proof.
move=> behind slow_interval interval since.
rewrite /dynamic_staleness.verdict; case: (0 < _) => //; case: (_ <= lower) => //.
have slower : push (clock st) fast slow < push (clock st) fast fast by rewrite !pushE addn0 addn1 ltnS.
have -> : fastest (push (clock st) fast) fast by apply/forallP => -[] //; apply: ltnW.
rewrite /= /granted /answer_at slowest_slow // !putE /= slow_interval interval.
exact: answer_positive.
Qed.

Lemma near_released (st : server bool_finType) p t : lead (push (clock st) p) p <= lower -> (verdict st p t).1.
Proof. by move=> near; rewrite /dynamic_staleness.verdict near; case: (0 < _). Qed.

Lemma on_push_free (st : server bool_finType) p t :
  held st = set0 -> (verdict st p t).1 -> held (on_push st p t) = set0.
Proof.
by move=> free released; apply/setP => v; rewrite /on_push /= released free !inE andbF.
Qed.

(** After [m] rounds. *)
Definition in_step m (st : server _) : Prop :=
  [/\ held st = set0, clock st fast = 2 * m, clock st slow = m & latest st slow = 6 * m].

Lemma one_round m st :
  reached (schedule m) st -> in_step m st -> latest st fast <= 6 * m + 4 -> (verdict st fast (6 * m + 4)).1 ->
  exists2 st', reached (schedule m.+1) st' &
    [/\ in_step m.+1 st', latest st' fast = 6 * m + 7 & previous st' slow = 6 * m].
Proof.
move=> reach [free clock_fast clock_slow latest_slow] order released.
pose st1 := on_push st fast (6 * m + 4); pose st2 := on_push st1 slow (6 * m + 6).
have free1 : held st1 = set0 by apply: on_push_free.
have reach1 : reached (rcons (schedule m) (fast, 6 * m + 4)) st1.
  by constructor; rewrite ?free ?inE // => -[] //; rewrite latest_slow; lia.
have released2 : (verdict st1 slow (6 * m + 6)).1.
  by apply: near_released; rewrite leadP /= !pushE /= clock_fast clock_slow; lia.
have free2 : held st2 = set0 by apply: on_push_free.
have reach2 : reached (rcons (rcons (schedule m) (fast, 6 * m + 4)) (slow, 6 * m + 6)) st2.
  by constructor; rewrite ?free1 ?inE // => -[]; rewrite /= putE /= ?latest_slow; lia.
have released3 : (verdict st2 fast (6 * m + 7)).1.
  by apply: fast_released; rewrite /= ?putE /= ?putE ?pushE /= ?pushE /= ?clock_fast ?clock_slow ?latest_slow; lia.
exists (on_push st2 fast (6 * m + 7)).
  by constructor; rewrite ?free2 ?inE // => -[]; rewrite /= ?putE /= ?putE /=; lia.
split; [split | by rewrite /= putE | by do 3 rewrite /= ?putE].
- exact: on_push_free.
- by rewrite /= !pushE /= clock_fast; lia.
- by rewrite /= !pushE /= clock_slow; lia.
by do 2 rewrite /= ?putE; lia.
Qed.

(** The first push of the fast worker is released unasked. *)
Hypothesis lower_gt0 : 0 < lower.

Lemma schedule_runs m : exists2 st, reached (schedule m.+1) st &
  [/\ in_step m.+1 st, latest st fast = 6 * m + 7 & previous st slow = 6 * m].
Proof.
elim: m => [|m [st reach [steady latest_fast previous_slow]]].
  apply: (@one_round 0 (first_state _)); [exact: ReachedFirst | | by rewrite ffunE |].
    by split; rewrite ?ffunE.
  by apply: near_released; rewrite leadP !pushE !ffunE.
have [_ clock_fast clock_slow latest_slow] := steady.
apply: (one_round reach steady); first by rewrite latest_fast; lia.
by apply: fast_released; rewrite ?clock_fast ?clock_slow ?latest_fast ?latest_slow ?previous_slow; lia.
Qed.

Theorem printed_has_no_bound m : exists2 st, reached (schedule m) st & lead (clock st) fast = m.
Proof.
case: m => [|m]; first by exists (first_state _); [exact: ReachedFirst | rewrite leadP !ffunE].
by have [st reach [[_ f s _] _ _]] := schedule_runs m; exists st => //; rewrite leadP /= f s; lia.
Qed.

(** In particular it passes the upper bound of the paper, and that bound plus one. *)
Corollary printed_passes_the_upper_bound :
  exists2 st, reached (schedule (lower + extra).+2) st & (lower + extra).+1 < lead (clock st) fast.
Proof. by have [st reach leads] := printed_has_no_bound (lower + extra).+2; exists st; rewrite ?leads. Qed.

End Printed.

(** The schedule, round by round. *)
Lemma scheduleE m : schedule m =
  flatten [seq [:: (true, 6 * i + 4); (false, 6 * i + 6); (true, 6 * i + 7)] | i <- iota 0 m].
Proof. by elim: m => // m IH; rewrite -addn1 iotaD map_cat flatten_cat -IH addn1 /= -!cats1 -!catA. Qed.

(** What is reached is in every set that has the start and, with a state, those after one push. *)
Lemma reachedE (W : finType) lower extra controller capped (st : server W) :
  (exists pushes, reached lower extra controller capped pushes st) <->
  forall P : server W -> Prop, P (first_state W) ->
    (forall st p t, P st -> p \notin held st -> (forall v, latest st v <= t) ->
      P (on_push lower extra controller capped st p t)) -> P st.
Proof.
split=> [[pushes reach] P P0 next | ]; first by elim: reach => // {}pushes {}st p t _; apply: next.
move=> least; apply: (least (fun st => exists pushes, reached lower extra controller capped pushes st)).
  by exists [::]; apply: ReachedFirst.
by move=> y p t [pushes reach] free order; exists (rcons pushes (p, t)); apply: ReachedPush.
Qed.
