(** * The listed theorems on what is drawn, each in one piece

As in [restated]: no section, no definition of ours, and of ours only full names, in proofs alone. [P] are the weights
of finitely many outcomes [o], [E X] is the expectation and [Pr A] the probability of an event. *)

From mathcomp Require Import all_ssreflect all_algebra.
From sparsync Require probability random_residual random_descent random_variance random_workers.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** Finite probability spaces *)

Theorem expect_independent (R : realFieldType) (Omega : finType) (P : Omega -> R) (S U : eqType)
    (X : Omega -> S) (Y : Omega -> U) (F : S -> U -> R)
    (E := fun Z : Omega -> R => \sum_o P o * Z o) (Pr := fun A : pred Omega => \sum_(o | A o) P o) :
  (forall s y, Pr (fun o => (X o == s) && (Y o == y)) = Pr (fun o => X o == s) * Pr (fun o => Y o == y)) ->
  E (fun o => F (X o) (Y o)) = E (fun o' => E (fun o => F (X o) (Y o'))).
Proof. exact: probability.expect_independent. Qed.

Theorem expect_conditional (R : realFieldType) (Omega : finType) (P : Omega -> R) (S : eqType) (X : Omega -> S)
    (V : lmodType R) (dot : V -> V -> R) (g : Omega -> V) (m phi : S -> V)
    (E := fun Z : Omega -> R => \sum_o P o * Z o) (Pr := fun A : pred Omega => \sum_(o | A o) P o) :
  [/\ forall v z, dot v z = dot z v, forall v z y, dot (v + z) y = dot v y + dot z y,
      forall a v z, dot (a *: v) z = a * dot v z & forall v, 0 <= dot v v] ->
  (forall s, \sum_(o | X o == s) P o *: g o = Pr (fun o => X o == s) *: m s) ->
  E (fun o => dot (phi (X o)) (g o)) = E (fun o => dot (phi (X o)) (m (X o))).
Proof. exact: probability.expect_conditional. Qed.

Theorem mean_norm_triangle (R : rcfType) (Omega : finType) (P : Omega -> R) (V : zmodType) (N : V -> R)
    (X Y : {ffun Omega -> V}) (E := fun Z : Omega -> R => \sum_o P o * Z o) :
  let norm (Z : {ffun Omega -> V}) := Num.sqrt (E (fun o => N (Z o) ^+ 2)) in
  (forall o, 0 <= P o) /\ \sum_o P o = 1 ->
  (forall u, 0 <= N u) -> (forall u v, N (u + v) <= N u + N v) -> norm (X + Y) <= norm X + norm Y.
Proof. by move=> norm *; apply: probability.mean_norm_triangle. Qed.

(** ** The residual *)

Theorem mean_residual_minkowski (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (N : V -> R)
    (D : eqType) (C : nat -> D -> V -> V) (draw : nat -> Omega -> D) (g e : nat -> Omega -> V)
    (eta delta sigma2 : R) (t : nat)
    (E := fun Z : Omega -> R => \sum_o P o * Z o) (Pr := fun A : pred Omega => \sum_(o | A o) P o) :
  let u s o := e s o + eta *: g s o in
  (forall o, 0 <= P o) /\ \sum_o P o = 1 ->
  (forall v z, N (v + z) <= N v + N z) /\ (forall a v, N (a *: v) = `|a| * N v) ->
  0 < delta -> delta <= 1 -> 0 <= sigma2 ->
  (forall o, e 0%N o = 0) /\ (forall s o, e s.+1 o = u s o - C s (draw s o) (u s o)) ->
  (forall s, (s < t)%N -> forall v, E (fun o => N (v - C s (draw s o) v) ^+ 2) <= (1 - delta) * N v ^+ 2) ->
  (forall s, (s < t)%N -> forall c v,
    Pr (fun o => (draw s o == c) && (u s o == v)) = Pr (fun o => draw s o == c) * Pr (fun o => u s o == v)) ->
  (forall s, (s < t)%N -> E (fun o => N (g s o) ^+ 2) <= sigma2) ->
  E (fun o => N (e t o) ^+ 2) <= eta ^+ 2 * sigma2 * (1 - delta) / (1 - Num.sqrt (1 - delta)) ^+ 2.
Proof. by move=> *; apply: (@random_residual.mean_residual_minkowski R Omega P V N D C draw g). Qed.

Theorem mean_residual_bound (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (N : V -> R)
    (D : eqType) (C : nat -> D -> V -> V) (draw : nat -> Omega -> D) (g e : nat -> Omega -> V)
    (eta delta sigma2 : R) (t : nat)
    (E := fun Z : Omega -> R => \sum_o P o * Z o) (Pr := fun A : pred Omega => \sum_(o | A o) P o) :
  let u s o := e s o + eta *: g s o in
  (forall o, 0 <= P o) /\ \sum_o P o = 1 ->
  (forall v z, N (v + z) <= N v + N z) /\ (forall a v, N (a *: v) = `|a| * N v) ->
  0 < delta -> delta <= 1 -> 0 <= sigma2 ->
  (forall o, e 0%N o = 0) /\ (forall s o, e s.+1 o = u s o - C s (draw s o) (u s o)) ->
  (forall s, (s < t)%N -> forall v, E (fun o => N (v - C s (draw s o) v) ^+ 2) <= (1 - delta) * N v ^+ 2) ->
  (forall s, (s < t)%N -> forall c v,
    Pr (fun o => (draw s o == c) && (u s o == v)) = Pr (fun o => draw s o == c) * Pr (fun o => u s o == v)) ->
  (forall s, (s < t)%N -> E (fun o => N (g s o) ^+ 2) <= sigma2) ->
  E (fun o => N (e t o) ^+ 2) <= 4%:R * (1 - delta) * eta ^+ 2 * sigma2 / delta ^+ 2.
Proof. by move=> *; apply: (@random_residual.mean_residual_bound R Omega P V N D C draw g). Qed.

Theorem mean_decayed_residual (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (N : V -> R)
    (D : eqType) (C : nat -> D -> V -> V) (draw : nat -> Omega -> D) (h e : nat -> Omega -> V)
    (beta delta change2 : R) (t : nat)
    (E := fun Z : Omega -> R => \sum_o P o * Z o) (Pr := fun A : pred Omega => \sum_(o | A o) P o) :
  let u s o := beta *: e s o + h s o in
  (forall o, 0 <= P o) /\ \sum_o P o = 1 ->
  (forall v z, N (v + z) <= N v + N z) /\ (forall a v, N (a *: v) = `|a| * N v) ->
  0 < delta -> delta <= 1 -> 0 <= beta -> beta <= 1 -> 0 <= change2 ->
  (forall o, e 0%N o = 0) /\ (forall s o, e s.+1 o = u s o - C s (draw s o) (u s o)) ->
  (forall s, (s < t)%N -> forall v, E (fun o => N (v - C s (draw s o) v) ^+ 2) <= (1 - delta) * N v ^+ 2) ->
  (forall s, (s < t)%N -> forall c v,
    Pr (fun o => (draw s o == c) && (u s o == v)) = Pr (fun o => draw s o == c) * Pr (fun o => u s o == v)) ->
  (forall s, (s < t)%N -> E (fun o => N (h s o) ^+ 2) <= change2) ->
  E (fun o => N (e t o) ^+ 2) <= change2 * (1 - delta) / (1 - beta * Num.sqrt (1 - delta)) ^+ 2.
Proof. by move=> *; apply: (@random_residual.mean_decayed_residual R Omega P V N D C draw h). Qed.

Theorem sure_compressor (R : realFieldType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (N : V -> R)
    (C : V -> V) (delta : R) (u : Omega -> V)
    (E := fun Z : Omega -> R => \sum_o P o * Z o) (Pr := fun A : pred Omega => \sum_(o | A o) P o) :
  (forall o, 0 <= P o) /\ \sum_o P o = 1 -> (forall v, N (v - C v) ^+ 2 <= (1 - delta) * N v ^+ 2) ->
  (forall v, E (fun o => N (v - C v) ^+ 2) <= (1 - delta) * N v ^+ 2) /\
  (forall c v, Pr (fun o => (tt == c) && (u o == v)) = Pr (fun=> tt == c) * Pr (fun o => u o == v)).
Proof. by move=> prob contr; exact: (@random_residual.sure_compressor R Omega P V N prob C delta u contr). Qed.

(** ** Rand-k *)

Theorem random_k_keeps_back (R : rcfType) (I : finType) (Omega : finType) (P : Omega -> R) (k : nat)
    (draw : Omega -> {set I}) (u : {ffun I -> R^o}) (E := fun Z : Omega -> R => \sum_o P o * Z o) :
  let payload (S : {set I}) : {ffun I -> R^o} := [ffun i => if i \in S then u i else 0] in
  (0 < #|I|)%N -> (k <= #|I|)%N ->
  (forall S, \sum_(o | draw o == S) P o = if #|S| == k then 'C(#|I|, k)%:R^-1 else 0) ->
  E (fun o => \sum_i (u - payload (draw o)) i * (u - payload (draw o)) i) =
  (1 - k%:R / #|I|%:R) * \sum_i u i * u i.
Proof. exact: random_residual.random_k_keeps_back. Qed.

Theorem no_set_contracts (R : rcfType) (I : finType) (S : {set I}) :
  (#|S| < #|I|)%N -> exists2 u : {ffun I -> R^o}, 0 < \sum_i u i * u i &
    let payload : {ffun I -> R^o} := [ffun i => if i \in S then u i else 0] in
    \sum_i (u - payload) i * (u - payload) i = \sum_i u i * u i.
Proof. exact: random_residual.no_set_contracts. Qed.

Theorem random_k_residual (R : rcfType) (I : finType) (Omega : finType) (P : Omega -> R)
    (draw : nat -> Omega -> {set I}) (g e : nat -> Omega -> {ffun I -> R^o}) (eta sigma2 : R) (k t : nat)
    (delta : R := k%:R / #|I|%:R) (norm := fun u : {ffun I -> R^o} => Num.sqrt (\sum_i u i * u i))
    (E := fun Z : Omega -> R => \sum_o P o * Z o) (Pr := fun A : pred Omega => \sum_(o | A o) P o) :
  let u s o := e s o + eta *: g s o in
  let payload (S : {set I}) (v : {ffun I -> R^o}) : {ffun I -> R^o} := [ffun i => if i \in S then v i else 0] in
  (forall o, 0 <= P o) /\ \sum_o P o = 1 -> (0 < k)%N -> (k <= #|I|)%N -> 0 <= sigma2 ->
  (forall o, e 0%N o = 0) /\ (forall s o, e s.+1 o = u s o - payload (draw s o) (u s o)) ->
  (forall s, (s < t)%N -> forall S, Pr (fun o => draw s o == S) = if #|S| == k then 'C(#|I|, k)%:R^-1 else 0) ->
  (forall s, (s < t)%N -> forall c v,
    Pr (fun o => (draw s o == c) && (u s o == v)) = Pr (fun o => draw s o == c) * Pr (fun o => u s o == v)) ->
  (forall s, (s < t)%N -> E (fun o => norm (g s o) ^+ 2) <= sigma2) ->
  E (fun o => norm (e t o) ^+ 2) <= 4%:R * (1 - delta) * eta ^+ 2 * sigma2 / delta ^+ 2.
Proof. exact: random_residual.random_k_residual. Qed.

(** ** Rates of smooth functions *)

Theorem workers_residual (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (dot : V -> V -> R)
    (W : finType) (D : eqType) (C : W -> nat -> D -> V -> V) (draw : W -> nat -> Omega -> D) (x : nat -> Omega -> V)
    (g e : W -> nat -> Omega -> V) (x0 : V) (eta delta sigma2 : R) (T t : nat) (share : R := #|W|%:R^-1)
    (E := fun Z : Omega -> R => \sum_o P o * Z o) (Pr := fun A : pred Omega => \sum_(o | A o) P o)
    (square := fun v => dot v v) :
  let u w t o := e w t o + eta *: g w t o in
  (forall o, 0 <= P o) /\ \sum_o P o = 1 ->
  [/\ forall v z, dot v z = dot z v, forall v z y, dot (v + z) y = dot v y + dot z y,
      forall a v z, dot (a *: v) z = a * dot v z & forall v, 0 <= dot v v] ->
  (0 < #|W|)%N -> 0 < delta -> delta <= 1 -> 0 <= sigma2 -> (t <= T)%N ->
  [/\ forall o, x 0%N o = x0, forall w o, e w 0%N o = 0,
      forall w t o, e w t.+1 o = u w t o - C w t (draw w t o) (u w t o)
    & forall t o, x t.+1 o = x t o - share *: \sum_w C w t (draw w t o) (u w t o)] ->
  (forall w t v, (t < T)%N -> E (fun o => square (v - C w t (draw w t o) v)) <= (1 - delta) * square v) ->
  (forall w t, (t < T)%N -> forall c v,
    Pr (fun o => (draw w t o == c) && (u w t o == v)) = Pr (fun o => draw w t o == c) * Pr (fun o => u w t o == v)) ->
  (forall w t, (t < T)%N -> E (fun o => square (g w t o)) <= sigma2) ->
  E (fun o => square (share *: \sum_w e w t o)) <=
  eta ^+ 2 * sigma2 * (1 - delta) / (1 - Num.sqrt (1 - delta)) ^+ 2.
Proof. by move=> u *; apply: (@random_descent.workers_residual R Omega P V dot W D C draw x g e x0 _ _ _ T). Qed.

Theorem smooth_rate_minkowski_holds (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R)
    (dot : V -> V -> R) (W : finType) (D : eqType) (f : V -> R) (grad : V -> V) (C : W -> nat -> D -> V -> V)
    (draw : W -> nat -> Omega -> D) (x : nat -> Omega -> V) (g e : W -> nat -> Omega -> V) (x0 : V)
    (eta L delta sigma2 f_min : R) (T : nat) (share : R := #|W|%:R^-1)
    (E := fun Z : Omega -> R => \sum_o P o * Z o) (Pr := fun A : pred Omega => \sum_(o | A o) P o)
    (square := fun v => dot v v) :
  let u w t o := e w t o + eta *: g w t o in
  let b := eta * L * Num.sqrt sigma2 * Num.sqrt (1 - delta) / (1 - Num.sqrt (1 - delta)) in
  (forall o, 0 <= P o) /\ \sum_o P o = 1 ->
  [/\ forall v z, dot v z = dot z v, forall v z y, dot (v + z) y = dot v y + dot z y,
      forall a v z, dot (a *: v) z = a * dot v z & forall v, 0 <= dot v v] ->
  (0 < #|W|)%N -> 0 < delta -> delta <= 1 -> 0 <= sigma2 -> 0 < eta -> 0 <= L -> (0 < T)%N ->
  [/\ forall o, x 0%N o = x0, forall w o, e w 0%N o = 0,
      forall w t o, e w t.+1 o = u w t o - C w t (draw w t o) (u w t o)
    & forall t o, x t.+1 o = x t o - share *: \sum_w C w t (draw w t o) (u w t o)] ->
  (forall w t v, (t < T)%N -> E (fun o => square (v - C w t (draw w t o) v)) <= (1 - delta) * square v) ->
  (forall w t, (t < T)%N -> forall c v,
    Pr (fun o => (draw w t o == c) && (u w t o == v)) = Pr (fun o => draw w t o == c) * Pr (fun o => u w t o == v)) ->
  (forall w t, (t < T)%N -> E (fun o => square (g w t o)) <= sigma2) ->
  (forall t, (t < T)%N -> forall p : V * V,
    \sum_(o | (x t o, share *: \sum_w e w t o) == p) P o *: (share *: \sum_w g w t o) =
    Pr (fun o => (x t o, share *: \sum_w e w t o) == p) *: grad p.1) ->
  (forall y z, f z <= f y + dot (grad y) (z - y) + L / 2%:R * square (z - y)) ->
  (forall y z, square (grad y - grad z) <= L ^+ 2 * square (y - z)) -> (forall y, f_min <= f y) ->
  exists2 t, (t < T)%N & E (fun o => square (grad (x t o))) <=
    (b + Num.sqrt (b ^+ 2 + 4%:R * ((f x0 - f_min) / (eta * T%:R) + eta * L * sigma2 / 2%:R))) ^+ 2 / 4%:R.
Proof.
by move=> u b *; apply: (@random_descent.smooth_rate_minkowski_holds R Omega P V dot W D f grad C draw x g e).
Qed.

Theorem smooth_rate_holds (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R)
    (dot : V -> V -> R) (W : finType) (D : eqType) (f : V -> R) (grad : V -> V) (C : W -> nat -> D -> V -> V)
    (draw : W -> nat -> Omega -> D) (x : nat -> Omega -> V) (g e : W -> nat -> Omega -> V) (x0 : V)
    (eta L delta sigma2 f_min : R) (T : nat) (share : R := #|W|%:R^-1)
    (E := fun Z : Omega -> R => \sum_o P o * Z o) (Pr := fun A : pred Omega => \sum_(o | A o) P o)
    (square := fun v => dot v v) :
  let u w t o := e w t o + eta *: g w t o in
  (forall o, 0 <= P o) /\ \sum_o P o = 1 ->
  [/\ forall v z, dot v z = dot z v, forall v z y, dot (v + z) y = dot v y + dot z y,
      forall a v z, dot (a *: v) z = a * dot v z & forall v, 0 <= dot v v] ->
  (0 < #|W|)%N -> 0 < delta -> delta <= 1 -> 0 <= sigma2 -> 0 < eta -> 0 <= L -> (0 < T)%N ->
  [/\ forall o, x 0%N o = x0, forall w o, e w 0%N o = 0,
      forall w t o, e w t.+1 o = u w t o - C w t (draw w t o) (u w t o)
    & forall t o, x t.+1 o = x t o - share *: \sum_w C w t (draw w t o) (u w t o)] ->
  (forall w t v, (t < T)%N -> E (fun o => square (v - C w t (draw w t o) v)) <= (1 - delta) * square v) ->
  (forall w t, (t < T)%N -> forall c v,
    Pr (fun o => (draw w t o == c) && (u w t o == v)) = Pr (fun o => draw w t o == c) * Pr (fun o => u w t o == v)) ->
  (forall w t, (t < T)%N -> E (fun o => square (g w t o)) <= sigma2) ->
  (forall t, (t < T)%N -> forall p : V * V,
    \sum_(o | (x t o, share *: \sum_w e w t o) == p) P o *: (share *: \sum_w g w t o) =
    Pr (fun o => (x t o, share *: \sum_w e w t o) == p) *: grad p.1) ->
  (forall y z, f z <= f y + dot (grad y) (z - y) + L / 2%:R * square (z - y)) ->
  (forall y z, square (grad y - grad z) <= L ^+ 2 * square (y - z)) -> (forall y, f_min <= f y) ->
  exists2 t, (t < T)%N & E (fun o => square (grad (x t o))) <=
    2%:R * (f x0 - f_min) / (eta * T%:R) + eta * L * sigma2 +
    L ^+ 2 * (4%:R * (1 - delta) * eta ^+ 2 * sigma2 / delta ^+ 2).
Proof. by move=> u *; apply: (@random_descent.smooth_rate_holds R Omega P V dot W D f grad C draw x g e). Qed.

Theorem variance_rate_holds (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (dot : V -> V -> R)
    (D : eqType) (f : V -> R) (grad : V -> V) (C : nat -> D -> V -> V) (draw : nat -> Omega -> D)
    (x g e : nat -> Omega -> V) (x0 : V) (eta L delta variance f_min : R) (T : nat)
    (E := fun Z : Omega -> R => \sum_o P o * Z o) (Pr := fun A : pred Omega => \sum_(o | A o) P o)
    (square := fun v => dot v v) :
  let u t o := e t o + eta *: g t o in let a := Num.sqrt (1 - delta) in
  (forall o, 0 <= P o) /\ \sum_o P o = 1 ->
  [/\ forall v z, dot v z = dot z v, forall v z y, dot (v + z) y = dot v y + dot z y,
      forall a v z, dot (a *: v) z = a * dot v z & forall v, 0 <= dot v v] ->
  0 < delta -> delta <= 1 -> 0 < eta -> 0 <= L -> (0 < T)%N -> eta * L * (1 + a) / (2%:R * (1 - a)) < 1 ->
  [/\ forall o, x 0%N o = x0, forall o, e 0%N o = 0, forall t o, e t.+1 o = u t o - C t (draw t o) (u t o)
    & forall t o, x t.+1 o = x t o - C t (draw t o) (u t o)] ->
  (forall t v, (t < T)%N -> E (fun o => square (v - C t (draw t o) v)) <= (1 - delta) * square v) ->
  (forall t, (t < T)%N -> forall c v,
    Pr (fun o => (draw t o == c) && (u t o == v)) = Pr (fun o => draw t o == c) * Pr (fun o => u t o == v)) ->
  (forall t, (t < T)%N -> E (fun o => square (g t o - grad (x t o))) <= variance) ->
  (forall t, (t < T)%N -> forall p : V * V,
    \sum_(o | (x t o, e t o) == p) P o *: g t o = Pr (fun o => (x t o, e t o) == p) *: grad p.1) ->
  (forall y z, f z <= f y + dot (grad y) (z - y) + L / 2%:R * square (z - y)) ->
  (forall y z, square (grad y - grad z) <= L ^+ 2 * square (y - z)) -> (forall y, f_min <= f y) ->
  exists2 t, (t < T)%N & E (fun o => square (grad (x t o))) <=
    ((f x0 - f_min) / (eta * T%:R) + eta * L * variance * (1 + a) / 2%:R) /
    (1 - eta * L * (1 + a) / (2%:R * (1 - a))).
Proof. by move=> u a *; apply: (@random_variance.variance_rate_holds R Omega P V dot D f grad C draw x g e). Qed.

Theorem workers_rate_holds (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (dot : V -> V -> R)
    (W : finType) (D : eqType) (f : V -> R) (grad : V -> V) (local : W -> V -> V) (C : W -> nat -> D -> V -> V)
    (draw : W -> nat -> Omega -> D) (x : nat -> Omega -> V) (g e : W -> nat -> Omega -> V) (x0 : V)
    (eta L delta weight variance zeta2 f_min : R) (T : nat) (share : R := #|W|%:R^-1)
    (E := fun Z : Omega -> R => \sum_o P o * Z o) (Pr := fun A : pred Omega => \sum_(o | A o) P o)
    (square := fun v => dot v v) :
  let u w t o := e w t o + eta *: g w t o in
  let noise w t o := g w t o - local w (x t o) in
  let known t o : V * {ffun W -> V} := (x t o, [ffun w => e w t o]) in
  let h := eta * L * (1 - delta / 2%:R + weight * (1 - delta) + 1 / (4%:R * weight)) / delta in
  (forall o, 0 <= P o) /\ \sum_o P o = 1 ->
  [/\ forall v z, dot v z = dot z v, forall v z y, dot (v + z) y = dot v y + dot z y,
      forall a v z, dot (a *: v) z = a * dot v z & forall v, 0 <= dot v v] ->
  (0 < #|W|)%N -> 0 < delta -> delta <= 1 -> 0 < eta -> 0 <= L -> (0 < T)%N -> 0 < weight -> 0 <= zeta2 -> h < 1 ->
  [/\ forall o, x 0%N o = x0, forall w o, e w 0%N o = 0,
      forall w t o, e w t.+1 o = u w t o - C w t (draw w t o) (u w t o)
    & forall t o, x t.+1 o = x t o - share *: \sum_w C w t (draw w t o) (u w t o)] ->
  (forall w t v, (t < T)%N -> E (fun o => square (v - C w t (draw w t o) v)) <= (1 - delta) * square v) ->
  (forall w t, (t < T)%N -> forall c v,
    Pr (fun o => (draw w t o == c) && (u w t o == v)) = Pr (fun o => draw w t o == c) * Pr (fun o => u w t o == v)) ->
  (forall w t, (t < T)%N -> E (fun o => square (noise w t o)) <= variance) ->
  (forall v w t, (t < T)%N -> v != w -> E (fun o => dot (noise v t o) (noise w t o)) = 0) ->
  (forall w t, (t < T)%N -> forall p : V * {ffun W -> V},
    \sum_(o | known t o == p) P o *: g w t o = Pr (fun o => known t o == p) *: local w p.1) ->
  (forall y, grad y = share *: \sum_w local w y) ->
  (forall t o, (t < T)%N -> share * (\sum_w square (local w (x t o) - grad (x t o))) <= zeta2) ->
  (forall y z, f z <= f y + dot (grad y) (z - y) + L / 2%:R * square (z - y)) ->
  (forall y z, square (grad y - grad z) <= L ^+ 2 * square (y - z)) -> (forall y, f_min <= f y) ->
  exists2 t, (t < T)%N & E (fun o => square (grad (x t o))) <=
    ((f x0 - f_min) / (eta * T%:R) +
     eta * L * (variance / (2%:R * #|W|%:R) + weight * (1 - delta) * (variance + zeta2 / delta))) / (1 - h).
Proof.
by move=> u noise known h *; apply: (@random_workers.workers_rate_holds R Omega P V dot W D f grad local C draw x g e).
Qed.
