(** * The listed theorems, each in one piece

Every theorem of verify/formal/theorems.py under its own name, those on what is drawn in [restated_random] and those on
staleness in [restated_staleness], without sections and with our definitions unfolded: all that it assumes and says is
in sight, and who trusts Coq and its Mathematical Components need read nothing else. One more hypothesis in a section,
or another meaning of a name, breaks these files. None of ours is imported, so our names have that of their file in
front; they are in proofs alone. *)

From mathcomp Require Import all_ssreflect all_algebra.
From sparsync Require tail top_k chunks powers feedback residual descent euclidean counterexamples.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Sequences *)

Theorem tail_cross (R : realFieldType) (s w : nat -> R) (k d : nat) :
  (k <= d)%N -> (forall i j, (i < k)%N -> (k <= j)%N -> (j < d)%N -> s j * w i <= s i * w j) ->
  (\sum_(k <= i < d) s i) * (\sum_(0 <= i < d) w i) <= (\sum_(k <= i < d) w i) * (\sum_(0 <= i < d) s i).
Proof. exact: tail.tail_cross. Qed.

Theorem share_is_best (R : realFieldType) (w : nat -> R) (k d : nat)
    (share := (\sum_(k <= i < d) w i) / (\sum_(0 <= i < d) w i)) :
  let bounds c := forall s : nat -> R,
    (forall i j, (i < k)%N -> (k <= j)%N -> (j < d)%N -> s j * w i <= s i * w j) ->
    \sum_(k <= i < d) s i <= c * \sum_(0 <= i < d) s i in
  (k <= d)%N -> 0 < \sum_(0 <= i < d) w i -> bounds share /\ forall c, bounds c -> share <= c.
Proof. exact: tail.share_is_best. Qed.

Theorem classical_best (R : realFieldType) (k d : nat) (w : nat -> R := fun=> 1) (share : R := (d - k)%:R / d%:R) :
  let bounds c := forall s : nat -> R,
    (forall i j, (i < k)%N -> (k <= j)%N -> (j < d)%N -> s j * w i <= s i * w j) ->
    \sum_(k <= i < d) s i <= c * \sum_(0 <= i < d) s i in
  (0 < d)%N -> (k <= d)%N -> bounds share /\ forall c, bounds c -> share <= c.
Proof. exact: tail.classical_best. Qed.

Theorem square_best (R : realFieldType) (k d : nat) (w : nat -> R := fun i => (d - i)%:R)
    (share : R := ((d - k) * (d - k + 1))%:R / (d * (d + 1))%:R) :
  let bounds c := forall s : nat -> R,
    (forall i j, (i < k)%N -> (k <= j)%N -> (j < d)%N -> s j * w i <= s i * w j) ->
    \sum_(k <= i < d) s i <= c * \sum_(0 <= i < d) s i in
  (0 < d)%N -> (k <= d)%N -> bounds share /\ forall c, bounds c -> share <= c.
Proof. exact: tail.square_best. Qed.

Theorem cubic_best (R : realFieldType) (k d : nat) (w : nat -> R := fun i => ((d - i) ^ 2)%:R)
    (share : R := ((d - k) * (d - k + 1) * (2 * (d - k) + 1))%:R / (d * (d + 1) * (2 * d + 1))%:R) :
  let bounds c := forall s : nat -> R,
    (forall i j, (i < k)%N -> (k <= j)%N -> (j < d)%N -> s j * w i <= s i * w j) ->
    \sum_(k <= i < d) s i <= c * \sum_(0 <= i < d) s i in
  (0 < d)%N -> (k <= d)%N -> bounds share /\ forall c, bounds c -> share <= c.
Proof. exact: tail.cubic_best. Qed.

(** ** Top-k *)

Theorem top_k_is_top (R : realFieldType) (I : finType) (u : I -> R) (k : nat)
    (S := [set i in take k (sort (fun i j => `|u j| <= `|u i|) (enum I))]) (i j : I) :
  i \in S -> j \notin S -> `|u j| <= `|u i|.
Proof. exact: top_k.top_k_is_top. Qed.

Theorem top_sets_agree (R : realFieldType) (I : finType) (u : I -> R) (S T : {set I}) :
  (forall i j, i \in S -> j \notin S -> `|u j| <= `|u i|) -> (forall i j, i \in T -> j \notin T -> `|u j| <= `|u i|) ->
  #|S| = #|T| -> \sum_(i | i \notin S) u i ^+ 2 = \sum_(i | i \notin T) u i ^+ 2.
Proof. exact: top_k.top_sets_agree. Qed.

Theorem top_set_keeps_back_the_tail (R : realFieldType) (I : finType) (u : I -> R) (S : {set I}) :
  let v j := nth 0 [seq u i ^+ 2 | i <- sort (fun i j => `|u j| <= `|u i|) (enum I)] j in
  (forall i j, i \in S -> j \notin S -> `|u j| <= `|u i|) ->
  \sum_(i | i \notin S) u i ^+ 2 = \sum_(#|S| <= j < #|I|) v j.
Proof. exact: top_k.top_set_keeps_back_the_tail. Qed.

Theorem top_k_contracts (R : realFieldType) (I : finType) (u : I -> R) (S : {set I}) :
  (0 < #|I|)%N -> (forall i j, i \in S -> j \notin S -> `|u j| <= `|u i|) ->
  \sum_(i | i \notin S) u i ^+ 2 <= (#|I| - #|S|)%:R / #|I|%:R * \sum_i u i ^+ 2.
Proof. exact: top_k.top_k_contracts. Qed.

Theorem top_k_contracts_square (R : realFieldType) (I : finType) (u : I -> R) (S : {set I}) (d := #|I|) :
  let v j := nth 0 [seq u i ^+ 2 | i <- sort (fun i j => `|u j| <= `|u i|) (enum I)] j in
  (0 < d)%N -> (forall i j, i \in S -> j \notin S -> `|u j| <= `|u i|) ->
  (forall i j, (i <= j)%N -> (j < d)%N -> v j * (d - i)%:R <= v i * (d - j)%:R) ->
  \sum_(i | i \notin S) u i ^+ 2 <= ((d - #|S|) * (d - #|S| + 1))%:R / (d * (d + 1))%:R * \sum_i u i ^+ 2.
Proof. exact: top_k.top_k_contracts_square. Qed.

Theorem top_k_contracts_cubic (R : realFieldType) (I : finType) (u : I -> R) (S : {set I}) (d := #|I|) :
  let v j := nth 0 [seq u i ^+ 2 | i <- sort (fun i j => `|u j| <= `|u i|) (enum I)] j in
  (0 < d)%N -> (forall i j, i \in S -> j \notin S -> `|u j| <= `|u i|) ->
  (forall i j, (i <= j)%N -> (j < d)%N -> v j * ((d - i) ^ 2)%:R <= v i * ((d - j) ^ 2)%:R) ->
  \sum_(i | i \notin S) u i ^+ 2 <=
  ((d - #|S|) * (d - #|S| + 1) * (2 * (d - #|S|) + 1))%:R / (d * (d + 1) * (2 * d + 1))%:R * \sum_i u i ^+ 2.
Proof. exact: top_k.top_k_contracts_cubic. Qed.

Theorem convex_is_star_shaped (R : realFieldType) (s : nat -> R) (d i j : nat) :
  (forall i, (i.+2 <= d)%N -> s i.+1 *+ 2 <= s i + s i.+2) -> s d = 0 -> (i <= j)%N -> (j <= d)%N ->
  s j * (d - i)%:R <= s i * (d - j)%:R.
Proof. exact: top_k.convex_is_star_shaped. Qed.

Theorem top_k_contracts_convex (R : realFieldType) (I : finType) (u : I -> R) (S : {set I}) (d := #|I|) :
  let v j := nth 0 [seq u i ^+ 2 | i <- sort (fun i j => `|u j| <= `|u i|) (enum I)] j in
  (0 < d)%N -> (forall i j, i \in S -> j \notin S -> `|u j| <= `|u i|) ->
  (forall i, (i.+2 <= d)%N -> v i.+1 *+ 2 <= v i + v i.+2) ->
  \sum_(i | i \notin S) u i ^+ 2 <= ((d - #|S|) * (d - #|S| + 1))%:R / (d * (d + 1))%:R * \sum_i u i ^+ 2.
Proof. exact: top_k.top_k_contracts_convex. Qed.

Theorem top_k_contracts_convex_magnitudes (R : realFieldType) (I : finType) (u : I -> R) (S : {set I}) (d := #|I|) :
  let m j := nth 0 [seq `|u i| | i <- sort (fun i j => `|u j| <= `|u i|) (enum I)] j in
  (0 < d)%N -> (forall i j, i \in S -> j \notin S -> `|u j| <= `|u i|) ->
  (forall i, (i.+2 <= d)%N -> m i.+1 *+ 2 <= m i + m i.+2) ->
  \sum_(i | i \notin S) u i ^+ 2 <=
  ((d - #|S|) * (d - #|S| + 1) * (2 * (d - #|S|) + 1))%:R / (d * (d + 1) * (2 * d + 1))%:R * \sum_i u i ^+ 2.
Proof. exact: top_k.top_k_contracts_convex_magnitudes. Qed.

Theorem threshold_selector_is_top_m (R : realFieldType) (I : finType) (u : I -> R) (t : R)
    (above := [set i | t <= `|u i|]) (top := [set i in take #|above| (sort (fun i j => `|u j| <= `|u i|) (enum I))]) :
  \sum_(i | i \notin above) u i ^+ 2 = \sum_(i | i \notin top) u i ^+ 2.
Proof. exact: top_k.threshold_selector_is_top_m. Qed.

Theorem threshold_contracts (R : realFieldType) (I : finType) (u : I -> R) (t : R) (above := [set i | t <= `|u i|]) :
  (0 < #|I|)%N -> \sum_(i | i \notin above) u i ^+ 2 <= (#|I| - #|above|)%:R / #|I|%:R * \sum_i u i ^+ 2.
Proof. exact: top_k.threshold_contracts. Qed.

Theorem band_contracts (R : realFieldType) (I : finType) (u : I -> R) (S : {set I}) (k : nat)
    (least := ((2 * k + 2) %/ 3)%N) :
  (0 < #|I|)%N -> (forall i j, i \in S -> j \notin S -> `|u j| <= `|u i|) ->
  (least <= #|S|)%N \/ (forall i, i \notin S -> u i = 0) ->
  \sum_(i | i \notin S) u i ^+ 2 <= (#|I| - least)%:R / #|I|%:R * \sum_i u i ^+ 2.
Proof. exact: top_k.band_contracts. Qed.

Theorem chunks_share (R : realFieldType) (J B : finType) (u : J * B -> R) (S : {set J * B}) (c : R) :
  (forall j, \sum_(i | (j, i) \notin S) u (j, i) ^+ 2 <= c * (\sum_i u (j, i) ^+ 2)) ->
  \sum_(x | x \notin S) u x ^+ 2 <= c * \sum_x u x ^+ 2.
Proof.
move=> each; apply: chunks.chunks_share => j; apply: le_trans (each j).
by rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_bigl => i; rewrite inE.
Qed.

Theorem chunks_contract (R : realFieldType) (J B : finType) (u : J * B -> R) (S : {set J * B}) (k : nat) :
  (0 < #|B|)%N ->
  (forall j, (forall i l, (j, i) \in S -> (j, l) \notin S -> `|u (j, l)| <= `|u (j, i)|) /\
    #|[set i | (j, i) \in S]| = k) ->
  \sum_(x | x \notin S) u x ^+ 2 <= (#|B| - k)%:R / #|B|%:R * \sum_x u x ^+ 2.
Proof.
move=> b_gt0 tops; apply: chunks.chunks_contract => // j; have [top card] := tops j.
by split=> // i l; rewrite !inE; apply: top.
Qed.

Theorem rounding_contracts (R : realFieldType) (I : finType) (u w : I -> R) (S : {set I}) (lost left : R) :
  lost <= 1 -> \sum_(i | i \notin S) u i ^+ 2 <= left * (\sum_i u i ^+ 2) ->
  \sum_(i in S) (u i - w i) ^+ 2 <= lost * (\sum_(i in S) u i ^+ 2) ->
  \sum_i (u i - if i \in S then w i else 0) ^+ 2 <= (1 - (1 - lost) * (1 - left)) * \sum_i u i ^+ 2.
Proof. exact: chunks.rounding_contracts. Qed.

(** ** Powers *)

Theorem power_best (R : realFieldType) (r k d : nat) (w : nat -> R := fun i => ((d - i) ^ r)%:R)
    (S := fun n => sumn [seq (m ^ r)%N | m <- iota 1 n]) (share : R := (S (d - k)%N)%:R / (S d)%:R) :
  let bounds c := forall s : nat -> R,
    (forall i j, (i < k)%N -> (k <= j)%N -> (j < d)%N -> s j * w i <= s i * w j) ->
    \sum_(k <= i < d) s i <= c * \sum_(0 <= i < d) s i in
  (0 < d)%N -> (k <= d)%N -> bounds share /\ forall c, bounds c -> share <= c.
Proof. exact: powers.power_best. Qed.

Theorem power_share_falls (R : realFieldType) (q r d k : nat) (S := fun r n => sumn [seq (m ^ r)%N | m <- iota 1 n]) :
  (r <= q)%N -> (k <= d)%N -> (S q (d - k)%N)%:R / (S q d)%:R <= (S r (d - k)%N)%:R / (S r d)%:R :> R.
Proof. exact: powers.power_share_falls. Qed.

Theorem power_share_le_binomial (R : realFieldType) (r d k : nat) (S := fun n => sumn [seq (m ^ r)%N | m <- iota 1 n]) :
  (0 < d)%N -> (k <= d)%N ->
  (S (d - k)%N)%:R / (S d)%:R <= 'C(d - k + r, r.+1)%:R / 'C(d + r, r.+1)%:R :> R.
Proof. exact: powers.power_share_le_binomial. Qed.

Theorem endpoint_share_le_power (R : realFieldType) (r d k : nat) (S := fun n => sumn [seq (m ^ r)%N | m <- iota 1 n]) :
  (0 < r)%N -> (0 < d)%N -> (k <= d)%N ->
  ((d - k) ^ r * (d - k).+1)%:R / (d ^ r * d.+1)%:R <= (S (d - k)%N)%:R / (S d)%:R :> R.
Proof. exact: powers.endpoint_share_le_power. Qed.

Theorem integral_constant_fails (R : realFieldType) (r d k : nat) (w : nat -> R := fun i => ((d - i) ^ r)%:R) :
  (0 < r)%N -> (0 < k)%N -> (k < d)%N ->
  ~ forall s : nat -> R, (forall i j, (i < k)%N -> (k <= j)%N -> (j < d)%N -> s j * w i <= s i * w j) ->
    \sum_(k <= i < d) s i <= ((d - k)%:R / d%:R) ^+ r.+1 * \sum_(0 <= i < d) s i.
Proof. exact: powers.integral_constant_fails. Qed.

(** ** Error feedback *)

Theorem conservation (R : fieldType) (V : lmodType R) (W : finType) (step : nat -> R) (g c e : W -> nat -> V) w t :
  (forall w t, e w t.+1 = e w t + step t *: g w t - c w t) ->
  \sum_(0 <= s < t) c w s + e w t = e w 0%N + \sum_(0 <= s < t) step s *: g w s.
Proof. exact: feedback.conservation. Qed.

Theorem virtual_iterate_moves (R : fieldType) (V : lmodType R) (W : finType)
    (step : nat -> R) (g c e : W -> nat -> V) (arrival : W -> nat -> nat) (x : nat -> V) (t : nat)
    (share : R := #|W|%:R^-1) :
  let arriving w t := \sum_(0 <= s < t.+1 | arrival w s == t) c w s in
  let under_way w t := \sum_(0 <= s < t | (t <= arrival w s)%N) c w s in
  (forall w t, e w t.+1 = e w t + step t *: g w t - c w t) ->
  (forall t, x t.+1 = x t - share *: \sum_w arriving w t) -> (forall w s, (s <= arrival w s)%N) ->
  x t.+1 - share *: (\sum_w (e w t.+1 + under_way w t.+1)) =
  x t - share *: (\sum_w (e w t + under_way w t)) - step t *: (share *: \sum_w g w t).
Proof. exact: feedback.virtual_iterate_moves. Qed.

Theorem virtual_iterate_at_once (R : fieldType) (V : lmodType R) (W : finType)
    (step : nat -> R) (g c e : W -> nat -> V) (x : nat -> V) (t : nat) (share : R := #|W|%:R^-1) :
  (forall w t, e w t.+1 = e w t + step t *: g w t - c w t) ->
  (forall t, x t.+1 = x t - share *: \sum_w c w t) ->
  x t.+1 - share *: (\sum_w e w t.+1) = x t - share *: (\sum_w e w t) - step t *: (share *: \sum_w g w t).
Proof. exact: feedback.virtual_iterate_at_once. Qed.

Theorem late_virtual_iterate_moves (R : fieldType) (V : lmodType R) (W : finType)
    (step : nat -> R) (g c e : W -> nat -> V) (arrival : W -> nat -> nat) (x : nat -> V) (t : nat)
    (share : R := #|W|%:R^-1) :
  let waiting w t := \sum_(0 <= s < t | (t <= arrival w s)%N) step s *: g w s in
  (forall w t, e w t.+1 = e w t + (\sum_(0 <= s < t.+1 | arrival w s == t) step s *: g w s) - c w t) ->
  (forall t, x t.+1 = x t - share *: \sum_w c w t) -> (forall w s, (s <= arrival w s)%N) ->
  x t.+1 - share *: (\sum_w (e w t.+1 + waiting w t.+1)) =
  x t - share *: (\sum_w (e w t + waiting w t)) - step t *: (share *: \sum_w g w t).
Proof. exact: feedback.late_virtual_iterate_moves. Qed.

(** ** The residual *)

Theorem residual_partial (R : rcfType) (V : zmodType) (N : V -> R) (C : nat -> V -> V) (h e : nat -> V)
    (delta G : R) t :
  N 0 = 0 -> (forall u, 0 <= N u) -> (forall u v, N (u + v) <= N u + N v) -> delta <= 1 -> (forall t, N (h t) <= G) ->
  (forall t u, N (u - C t u) ^+ 2 <= (1 - delta) * N u ^+ 2) ->
  e 0%N = 0 /\ (forall t, e t.+1 = (e t + h t) - C t (e t + h t)) ->
  N (e t) <= G * \sum_(1 <= i < t.+1) Num.sqrt (1 - delta) ^+ i.
Proof. by move=> *; apply: (@residual.residual_partial R V N C h). Qed.

Theorem residual_minkowski (R : rcfType) (V : zmodType) (N : V -> R) (C : nat -> V -> V) (h e : nat -> V)
    (delta G : R) t :
  N 0 = 0 -> (forall u, 0 <= N u) -> (forall u v, N (u + v) <= N u + N v) -> 0 < delta -> delta <= 1 ->
  (forall t, N (h t) <= G) -> (forall t u, N (u - C t u) ^+ 2 <= (1 - delta) * N u ^+ 2) ->
  e 0%N = 0 /\ (forall t, e t.+1 = (e t + h t) - C t (e t + h t)) ->
  N (e t) ^+ 2 <= (1 - delta) * G ^+ 2 / (1 - Num.sqrt (1 - delta)) ^+ 2.
Proof. by move=> *; apply: (@residual.residual_minkowski R V N C h). Qed.

Theorem residual_bound (R : rcfType) (V : zmodType) (N : V -> R) (C : nat -> V -> V) (h e : nat -> V) (delta G : R) t :
  N 0 = 0 -> (forall u, 0 <= N u) -> (forall u v, N (u + v) <= N u + N v) -> 0 < delta -> delta <= 1 ->
  (forall t, N (h t) <= G) -> (forall t u, N (u - C t u) ^+ 2 <= (1 - delta) * N u ^+ 2) ->
  e 0%N = 0 /\ (forall t, e t.+1 = (e t + h t) - C t (e t + h t)) ->
  N (e t) ^+ 2 <= 4%:R * (1 - delta) * G ^+ 2 / delta ^+ 2.
Proof. by move=> *; apply: (@residual.residual_bound R V N C h). Qed.

(** Whatever keeps back no more on the way: [N] may be the root of a mean square on any probability space. *)
Theorem residual_minkowski_along (R : rcfType) (V : zmodType) (N : V -> R) (h e : nat -> V) (delta G : R) (t : nat) :
  N 0 = 0 -> (forall u, 0 <= N u) -> (forall u v, N (u + v) <= N u + N v) -> delta <= 1 -> 0 <= G ->
  (forall s, (s < t)%N -> N (h s) <= G) -> 0 < delta -> e 0%N = 0 ->
  (forall s, (s < t)%N -> N (e s.+1) ^+ 2 <= (1 - delta) * N (e s + h s) ^+ 2) ->
  N (e t) ^+ 2 <= (1 - delta) * G ^+ 2 / (1 - Num.sqrt (1 - delta)) ^+ 2.
Proof. by move=> *; apply: (@residual.residual_minkowski_along R V N h). Qed.

Theorem residual_bound_along (R : rcfType) (V : zmodType) (N : V -> R) (h e : nat -> V) (delta G : R) (t : nat) :
  N 0 = 0 -> (forall u, 0 <= N u) -> (forall u v, N (u + v) <= N u + N v) -> delta <= 1 -> 0 <= G ->
  (forall s, (s < t)%N -> N (h s) <= G) -> 0 < delta -> e 0%N = 0 ->
  (forall s, (s < t)%N -> N (e s.+1) ^+ 2 <= (1 - delta) * N (e s + h s) ^+ 2) ->
  N (e t) ^+ 2 <= 4%:R * (1 - delta) * G ^+ 2 / delta ^+ 2.
Proof. by move=> *; apply: (@residual.residual_bound_along R V N h). Qed.

(** ** A memory that decays *)

Theorem decayed_residual (R : rcfType) (V : lmodType R) (N : V -> R) (h e : nat -> V) (delta beta G : R) t :
  N 0 = 0 -> (forall u, 0 <= N u) -> (forall u v, N (u + v) <= N u + N v) ->
  (forall u, N (beta *: u) <= beta * N u) -> 0 < delta -> delta <= 1 -> 0 <= beta -> beta <= 1 ->
  (forall t, N (h t) <= G) ->
  e 0%N = 0 /\ (forall t, N (e t.+1) ^+ 2 <= (1 - delta) * N (beta *: e t + h t) ^+ 2) ->
  N (e t) ^+ 2 <= (1 - delta) * G ^+ 2 / (1 - beta * Num.sqrt (1 - delta)) ^+ 2.
Proof. by move=> *; apply: (@residual.decayed_residual R V N h). Qed.

Theorem decayed_iterate_moves (R : fieldType) (V : lmodType R) (W : finType)
    (beta : R) (change c e : W -> nat -> V) (x : nat -> V) (t : nat) (share : R := #|W|%:R^-1) :
  (forall w t, e w t.+1 = beta *: e w t + change w t - c w t) ->
  (forall t, x t.+1 = x t - share *: \sum_w c w t) ->
  x t.+1 - share *: (\sum_w e w t.+1) =
  x t - share *: (\sum_w e w t) - share *: (\sum_w change w t) + (1 - beta) *: (share *: \sum_w e w t).
Proof. exact: feedback.decayed_iterate_moves. Qed.

Theorem decayed_account (R : fieldType) (V : lmodType R) (W : finType)
    (beta : R) (change c e : W -> nat -> V) (w : W) (t : nat) :
  (forall w t, e w t.+1 = beta *: e w t + change w t - c w t) ->
  \sum_(0 <= s < t) c w s + e w t + (1 - beta) *: (\sum_(0 <= s < t) e w s)
    = e w 0%N + \sum_(0 <= s < t) change w s.
Proof. exact: feedback.decayed_account. Qed.

(** ** Descent *)

Theorem potential_falls (R : realFieldType) (V : lmodType R) (dot : V -> V -> R) (W : finType)
    (f : V -> R) (grad : V -> V) (local : W -> V -> V) (C : W -> nat -> V -> V) (x : nat -> V) (e : W -> nat -> V)
    (eta L delta zeta2 : R) (t : nat) (share : R := #|W|%:R^-1) (square := fun v => dot v v) :
  let u w t := e w t + eta *: local w (x t) in
  let potential t := f (x t - share *: \sum_w e w t) + eta * L ^+ 2 / delta * (share * \sum_w square (e w t)) in
  [/\ forall v z, dot v z = dot z v, forall v z y, dot (v + z) y = dot v y + dot z y,
      forall a v z, dot (a *: v) z = a * dot v z & forall v, 0 <= dot v v] ->
  (0 < #|W|)%N -> 0 < delta -> delta <= 1 -> 0 <= eta -> 0 <= L -> 4%:R * L * eta <= delta ->
  (forall y, grad y = share *: \sum_w local w y) ->
  (forall y, share * (\sum_w square (local w y - grad y)) <= zeta2) ->
  (forall y z, f z <= f y + dot (grad y) (z - y) + L / 2%:R * square (z - y)) ->
  (forall y z, square (grad y - grad z) <= L ^+ 2 * square (y - z)) ->
  (forall w t v, square (v - C w t v) <= (1 - delta) * square v) ->
  [/\ forall w, e w 0%N = 0, forall w t, e w t.+1 = u w t - C w t (u w t)
    & forall t, x t.+1 = x t - share *: \sum_w C w t (u w t)] ->
  eta / 4%:R * square (grad (x t)) <=
  potential t - potential t.+1 + 2%:R * eta ^+ 3 * L ^+ 2 / delta ^+ 2 * zeta2.
Proof. by move=> *; apply: (@descent.potential_falls R V dot W f grad local C x e). Qed.

Theorem descent (R : realFieldType) (V : lmodType R) (dot : V -> V -> R) (W : finType)
    (f : V -> R) (grad : V -> V) (local : W -> V -> V) (C : W -> nat -> V -> V) (x : nat -> V) (e : W -> nat -> V)
    (eta L delta f_min zeta2 : R) (T : nat) (share : R := #|W|%:R^-1) (square := fun v => dot v v) :
  let u w t := e w t + eta *: local w (x t) in
  [/\ forall v z, dot v z = dot z v, forall v z y, dot (v + z) y = dot v y + dot z y,
      forall a v z, dot (a *: v) z = a * dot v z & forall v, 0 <= dot v v] ->
  (0 < #|W|)%N -> 0 < delta -> delta <= 1 -> 0 <= eta -> 0 <= L -> 4%:R * L * eta <= delta ->
  (forall y, grad y = share *: \sum_w local w y) ->
  (forall y, share * (\sum_w square (local w y - grad y)) <= zeta2) ->
  (forall y z, f z <= f y + dot (grad y) (z - y) + L / 2%:R * square (z - y)) ->
  (forall y z, square (grad y - grad z) <= L ^+ 2 * square (y - z)) ->
  (forall y, f_min <= f y) ->
  (forall w t v, square (v - C w t v) <= (1 - delta) * square v) ->
  [/\ forall w, e w 0%N = 0, forall w t, e w t.+1 = u w t - C w t (u w t)
    & forall t, x t.+1 = x t - share *: \sum_w C w t (u w t)] ->
  eta / 4%:R * (\sum_(0 <= t < T) square (grad (x t))) <=
  f (x 0%N) - f_min + T%:R * (2%:R * eta ^+ 3 * L ^+ 2 / delta ^+ 2 * zeta2).
Proof. by move=> *; apply: (@descent.descent R V dot W f grad local C x e). Qed.

Theorem cauchy_schwarz (R : rcfType) (V : lmodType R) (dot : V -> V -> R) (u v : V) :
  [/\ forall v z, dot v z = dot z v, forall v z y, dot (v + z) y = dot v y + dot z y,
      forall a v z, dot (a *: v) z = a * dot v z & forall v, 0 <= dot v v] ->
  dot u v ^+ 2 <= dot u u * dot v v.
Proof. by move=> inner; apply: euclidean.cauchy_schwarz inner u v. Qed.

Theorem top_k_compresses (R : rcfType) (I : finType) (k : nat) (u : {ffun I -> R^o}) :
  let top := [set i in take k (sort (fun i j => `|u j| <= `|u i|) (enum I))] in
  let payload : {ffun I -> R^o} := [ffun i => if i \in top then u i else 0] in
  (0 < #|I|)%N -> (k <= #|I|)%N ->
  \sum_i (u - payload) i ^+ 2 <= (1 - k%:R / #|I|%:R) * \sum_i u i ^+ 2.
Proof. exact: euclidean.top_k_compresses. Qed.

Theorem top_k_residual (R : rcfType) (I : finType) (h e : nat -> {ffun I -> R^o}) (k : nat) (G : R) (t : nat)
    (delta : R := k%:R / #|I|%:R) (norm := fun u : {ffun I -> R^o} => Num.sqrt (\sum_i u i ^+ 2)) :
  let top (u : {ffun I -> R^o}) := [set i in take k (sort (fun i j => `|u j| <= `|u i|) (enum I))] in
  let payload u : {ffun I -> R^o} := [ffun i => if i \in top u then u i else 0] in
  (0 < k)%N -> (k <= #|I|)%N -> (forall t, norm (h t) <= G) ->
  e 0%N = 0 /\ (forall t, e t.+1 = (e t + h t) - payload (e t + h t)) ->
  norm (e t) ^+ 2 <= 4%:R * (1 - delta) * G ^+ 2 / delta ^+ 2.
Proof. exact: euclidean.top_k_residual. Qed.

Theorem top_k_descends (R : rcfType) (I W : finType) (f : {ffun I -> R^o} -> R)
    (grad : {ffun I -> R^o} -> {ffun I -> R^o}) (local : W -> {ffun I -> R^o} -> {ffun I -> R^o})
    (x : nat -> {ffun I -> R^o}) (e : W -> nat -> {ffun I -> R^o}) (eta L f_min zeta2 : R) (k T : nat)
    (delta : R := k%:R / #|I|%:R) (share : R := #|W|%:R^-1) :
  let dot (u v : {ffun I -> R^o}) := \sum_i u i * v i in let square u := dot u u in
  let top (u : {ffun I -> R^o}) := [set i in take k (sort (fun i j => `|u j| <= `|u i|) (enum I))] in
  let payload u : {ffun I -> R^o} := [ffun i => if i \in top u then u i else 0] in
  let u w t := e w t + eta *: local w (x t) in
  (0 < #|W|)%N -> (0 < k)%N -> (k <= #|I|)%N -> 0 <= eta -> 0 <= L -> 4%:R * L * eta <= delta ->
  (forall y, grad y = share *: \sum_w local w y) ->
  (forall y, share * (\sum_w square (local w y - grad y)) <= zeta2) ->
  (forall y z, f z <= f y + dot (grad y) (z - y) + L / 2%:R * square (z - y)) ->
  (forall y z, square (grad y - grad z) <= L ^+ 2 * square (y - z)) ->
  (forall y, f_min <= f y) ->
  [/\ forall w, e w 0%N = 0, forall w t, e w t.+1 = u w t - payload (u w t)
    & forall t, x t.+1 = x t - share *: \sum_w payload (u w t)] ->
  eta / 4%:R * (\sum_(0 <= t < T) square (grad (x t))) <=
  f (x 0%N) - f_min + T%:R * (2%:R * eta ^+ 3 * L ^+ 2 / delta ^+ 2 * zeta2).
Proof. exact: euclidean.top_k_descends. Qed.

(** ** What does not hold *)

Theorem published_constant_fails (R : realFieldType) (d k : nat) (w : nat -> R := fun i => (d - i)%:R) :
  (0 < k)%N -> (k < d)%N ->
  ~ forall s : nat -> R, (forall i j, (i < k)%N -> (k <= j)%N -> (j < d)%N -> s j * w i <= s i * w j) ->
    \sum_(k <= i < d) s i <= ((d - k)%:R / d%:R) ^+ 2 * \sum_(0 <= i < d) s i.
Proof. exact: counterexamples.published_constant_fails. Qed.

Theorem two_one_loses_a_third (R : realFieldType) (s : nat -> R := fun i => (2 - i)%:R) :
  \sum_(1 <= i < 2) s i = 3%:R^-1 * (\sum_(0 <= i < 2) s i) /\ ((2 - 1)%:R / 2%:R) ^+ 2 = 4%:R^-1 :> R.
Proof. exact: counterexamples.two_one_loses_a_third. Qed.

(** Worker [w] holds list [w] and zeros behind it; without a list, only zeros. *)
Theorem mean_of_local_top_ratio (R : realFieldType) (n d k : nat) (b : R) (S : 'I_n -> {set 'I_d}) :
  let lists := [:: nseq k.-1 2%:R ++ [:: 1; b]; nseq k.-1 (- 2%:R) ++ [:: - b; - 1]] in
  let u (w : 'I_n) (i : 'I_d) := nth 0 (nth [::] lists w) i in
  (1 < n)%N -> (0 < k)%N -> (k < d)%N -> 0 <= b -> b < 1 ->
  (forall w, (forall i j, i \in S w -> j \notin S w -> `|u w j| <= `|u w i|) /\ #|S w| = k) ->
  \sum_i ((\sum_w u w i) / n%:R - (\sum_w if i \in S w then u w i else 0) / n%:R) ^+ 2 =
  (b / (1 - b)) ^+ 2 * \sum_i ((\sum_w u w i) / n%:R) ^+ 2.
Proof. by move=> lists u *; apply: counterexamples.mean_of_local_top_ratio. Qed.

Theorem mean_of_local_top_is_no_contraction (R : realFieldType) (n d k : nat) (bound : R) :
  (1 < n)%N -> (0 < k)%N -> (k < d)%N -> exists (u : 'I_n -> 'I_d -> R) (S : 'I_n -> {set 'I_d}),
    let mean_square := \sum_i ((\sum_w u w i) / n%:R) ^+ 2 in
    [/\ forall w, (forall i j, i \in S w -> j \notin S w -> `|u w j| <= `|u w i|) /\ #|S w| = k, 0 < mean_square
      & bound * mean_square <
        \sum_i ((\sum_w u w i) / n%:R - (\sum_w if i \in S w then u w i else 0) / n%:R) ^+ 2].
Proof. exact: counterexamples.mean_of_local_top_is_no_contraction. Qed.
