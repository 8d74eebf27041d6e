(** * What is proved of the statements, each in one piece

Theorems of the other files that prove a statement of theory/, without sections and with their definitions unfolded:
every hypothesis is in sight here, and one more in a section, or another meaning of a name, breaks this file. *)

From mathcomp Require Import all_ssreflect all_algebra.
From sparsync Require Import tail top_k counterexamples feedback residual.
From sparsync Require staleness.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Theorem top_k (R : realFieldType) (I : finType) (u : I -> R) (S : {set I}) :
  (0 < #|I|)%N -> (forall i j, i \in S -> j \notin S -> `|u j| <= `|u i|) ->
  \sum_(i | i \notin S) u i ^+ 2 <= (#|I| - #|S|)%:R / #|I|%:R * \sum_i u i ^+ 2.
Proof. exact: top_k_contracts. Qed.

Theorem square_convex_discrete (R : realFieldType) (I : finType) (u : I -> R) (S : {set I}) (d := #|I|) :
  let v j := nth 0 [seq u i ^+ 2 | i <- sort (fun i j => `|u j| <= `|u i|) (enum I)] j in
  (0 < d)%N -> (forall i j, i \in S -> j \notin S -> `|u j| <= `|u i|) ->
  (forall i j, (i <= j)%N -> (j < d)%N -> v j * (d - i)%:R <= v i * (d - j)%:R) ->
  \sum_(i | i \notin S) u i ^+ 2 <= ((d - #|S|) * (d - #|S| + 1))%:R / (d * (d + 1))%:R * \sum_i u i ^+ 2.
Proof. exact: top_k_contracts_square. Qed.

Theorem bell_shaped_discrete (R : realFieldType) (I : finType) (u : I -> R) (S : {set I}) (d := #|I|) :
  let v j := nth 0 [seq u i ^+ 2 | i <- sort (fun i j => `|u j| <= `|u i|) (enum I)] j in
  (0 < d)%N -> (forall i j, i \in S -> j \notin S -> `|u j| <= `|u i|) ->
  (forall i j, (i <= j)%N -> (j < d)%N -> v j * ((d - i) ^ 2)%:R <= v i * ((d - j) ^ 2)%:R) ->
  \sum_(i | i \notin S) u i ^+ 2 <=
  ((d - #|S|) * (d - #|S| + 1) * (2 * (d - #|S|) + 1))%:R / (d * (d + 1) * (2 * d + 1))%:R * \sum_i u i ^+ 2.
Proof. exact: top_k_contracts_cubic. Qed.

Theorem threshold_selector (R : realFieldType) (I : finType) (u : I -> R) (t : R) (N := #|[set i | t <= `|u i|]|) :
  (0 < #|I|)%N -> \sum_(i | i \notin [set i | t <= `|u i|]) u i ^+ 2 <= (#|I| - N)%:R / #|I|%:R * \sum_i u i ^+ 2.
Proof. exact: threshold_contracts. Qed.

Theorem count_band (R : realFieldType) (I : finType) (u : I -> R) (S : {set I}) (k : nat)
    (least := ((2 * k + 2) %/ 3)%N) :
  (0 < #|I|)%N -> (forall i j, i \in S -> j \notin S -> `|u j| <= `|u i|) ->
  (least <= #|S|)%N \/ (forall i, i \notin S -> u i = 0) ->
  \sum_(i | i \notin S) u i ^+ 2 <= (#|I| - least)%:R / #|I|%:R * \sum_i u i ^+ 2.
Proof. exact: band_contracts. Qed.

Theorem virtual_iterate (R : fieldType) (V : lmodType R) (W : finType)
    (step : nat -> R) (g c e : W -> nat -> V) (x : nat -> V) (t : nat) (share := #|W|%:R^-1 : R) :
  (forall w t, e w t.+1 = e w t + step t *: g w t - c w t) ->
  (forall t, x t.+1 = x t - share *: \sum_w c w t) ->
  x t.+1 - share *: (\sum_w e w t.+1) = x t - share *: (\sum_w e w t) - step t *: (share *: \sum_w g w t).
Proof. exact: virtual_iterate_at_once. Qed.

Theorem delayed_virtual_iterate (R : fieldType) (V : lmodType R) (W : finType)
    (step : nat -> R) (g c e : W -> nat -> V) (arrival : W -> nat -> nat) (x : nat -> V) (t : nat)
    (share := #|W|%:R^-1 : R) :
  let waiting w t := \sum_(0 <= s < t | (t <= arrival w s)%N) step s *: g w s in
  (forall w t, e w t.+1 = e w t + (\sum_(0 <= s < t.+1 | arrival w s == t) step s *: g w s) - c w t) ->
  (forall t, x t.+1 = x t - share *: \sum_w c w t) -> (forall w s, (s <= arrival w s)%N) ->
  x t.+1 - share *: (\sum_w (e w t.+1 + waiting w t.+1)) =
  x t - share *: (\sum_w (e w t + waiting w t)) - step t *: (share *: \sum_w g w t).
Proof. exact: late_virtual_iterate_moves. Qed.

Theorem residual_bound (R : rcfType) (V : zmodType) (N : V -> R) (C : nat -> V -> V) (h e : nat -> V) (delta G : R) t :
  N 0 = 0 -> (forall u, 0 <= N u) -> (forall u v, N (u + v) <= N u + N v) -> 0 < delta -> delta <= 1 ->
  (forall t, N (h t) <= G) -> (forall t u, N (u - C t u) ^+ 2 <= (1 - delta) * N u ^+ 2) ->
  e 0%N = 0 /\ (forall t, e t.+1 = (e t + h t) - C t (e t + h t)) ->
  N (e t) ^+ 2 <= 4%:R * (1 - delta) * G ^+ 2 / delta ^+ 2.
Proof. by move=> *; apply: (@residual_bound R V N C h). Qed.

Theorem residual_minkowski (R : rcfType) (V : zmodType) (N : V -> R) (C : nat -> V -> V) (h e : nat -> V)
    (delta G : R) t :
  N 0 = 0 -> (forall u, 0 <= N u) -> (forall u v, N (u + v) <= N u + N v) -> 0 < delta -> delta <= 1 ->
  (forall t, N (h t) <= G) -> (forall t u, N (u - C t u) ^+ 2 <= (1 - delta) * N u ^+ 2) ->
  e 0%N = 0 /\ (forall t, e t.+1 = (e t + h t) - C t (e t + h t)) ->
  N (e t) ^+ 2 <= (1 - delta) * G ^+ 2 / (1 - Num.sqrt (1 - delta)) ^+ 2.
Proof. by move=> *; apply: (@residual_minkowski R V N C h). Qed.

(** Worker [w] holds list [w] and zeros behind it; without a list, only zeros. *)
Theorem mean_of_local_top_k (R : realFieldType) (n d k : nat) (b : R) (S : 'I_n -> {set 'I_d}) :
  let lists := [:: nseq k.-1 2%:R ++ [:: 1; b]; nseq k.-1 (- 2%:R) ++ [:: - b; - 1]] in
  let u (w : 'I_n) (i : 'I_d) := nth 0 (nth [::] lists w) i in
  (1 < n)%N -> (0 < k)%N -> (k < d)%N -> 0 <= b -> b < 1 ->
  (forall w, (forall i j, i \in S w -> j \notin S w -> `|u w j| <= `|u w i|) /\ #|S w| = k) ->
  \sum_i ((\sum_w u w i) / n%:R - (\sum_w if i \in S w then u w i else 0) / n%:R) ^+ 2 =
  (b / (1 - b)) ^+ 2 * \sum_i ((\sum_w u w i) / n%:R) ^+ 2.
Proof. by move=> lists u *; apply: mean_of_local_top_ratio. Qed.

(** The clocks after [t] pushes, each by a worker that leads nobody by more than [s] as it starts. *)
Theorem ssp_gap (W : finType) (s : nat) (c : nat -> {ffun W -> nat}) (t : nat) (w v : W) :
  (forall w, c 0%N w = 0%N) ->
  (forall t, exists2 w, (forall v, c t w <= c t v + s)%N & forall v, c t.+1 v = (c t v + (v == w))%N) ->
  (c t w <= c t v + s.+1)%N.
Proof.
move=> start next; suff : staleness.ssp_reachable s (c t) by move/staleness.ssp_gap/staleness.lead_le.
elim: t => [|t reached].
  by have -> : c 0%N = staleness.zero_clocks W by [apply/ffunP => u; rewrite start ffunE]; apply: staleness.reachable_start.
have [u gate pushed] := next t; apply: staleness.reachable_step reached _.
have -> : c t.+1 = staleness.push (c t) u by apply/ffunP => y; rewrite pushed staleness.pushE.
by constructor; apply/staleness.lead_le.
Qed.
