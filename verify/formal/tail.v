(** * The tail lemma: how much of a sum lies behind position [k]?

Let [s] and [w] be sequences and [k <= d]. If [s j * w i <= s i * w j] for all [i < k <= j < d] ("s falls at least as
fast as w across k"), then the share of [s] behind [k] is at most that of [w]:

    (sum of s over [k, d)) (sum of w over [0, d))  <=  (sum of w over [k, d)) (sum of s over [0, d)).

Three weights give the ladder, with [i] counted from zero: [1], [d - i], [(d - i)^2]. The shares of these weights are

    (d - k) / d,   (d - k)(d - k + 1) / (d (d + 1)),   (d - k)(d - k + 1)(2 (d - k) + 1) / (d (d + 1)(2 d + 1)),

and each is the best constant, because [s = w] attains it. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import zify.
From mathcomp.algebra_tactics Require Import ring.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Tail.

Variable R : realFieldType.
Implicit Types (s w : nat -> R) (d k : nat).

Definition tail s k d : R := \sum_(k <= i < d) s i.

(** [s] falls at least as fast as [w] across [k]. *)
Definition falls_across s w k d : Prop :=
  forall i j, (i < k)%N -> (k <= j)%N -> (j < d)%N -> s j * w i <= s i * w j.

Lemma tail_split s k d : (k <= d)%N -> tail s 0 d = tail s 0 k + tail s k d.
Proof. by move=> kd; rewrite /tail (big_cat_nat _ _ _ (leq0n k) kd). Qed.

Theorem tail_cross s w k d :
  (k <= d)%N -> falls_across s w k d -> tail s k d * tail w 0 d <= tail w k d * tail s 0 d.
Proof.
move=> kd cross; rewrite !(tail_split _ kd) !mulrDr [X in _ + X]mulrC ler_add2r.
rewrite /tail !big_distrlr /=.
apply: ler_sum_nat => j /andP[kj jd]; apply: ler_sum_nat => i /andP[_ ik].
by rewrite [w j * _]mulrC; apply: cross.
Qed.

(** A constant bounds the share of every sequence that falls as fast as [w], ... *)
Definition bounds_share (w : nat -> R) k d (c : R) : Prop :=
  forall s, falls_across s w k d -> tail s k d <= c * tail s 0 d.

(** ... and none below it does. *)
Definition best_share (w : nat -> R) k d (c : R) : Prop :=
  bounds_share w k d c /\ forall c', bounds_share w k d c' -> c <= c'.

Lemma falls_across_refl w k d : falls_across w w k d.
Proof. by move=> i j _ _ _; rewrite mulrC. Qed.

Theorem share_is_best w k d :
  (k <= d)%N -> 0 < tail w 0 d -> best_share w k d (tail w k d / tail w 0 d).
Proof.
move=> kd w_gt0; split=> [s cross | c bounded].
  by rewrite mulrAC ler_pdivl_mulr //; apply: tail_cross.
by rewrite ler_pdivr_mulr //; apply/bounded/falls_across_refl.
Qed.

(** ** The three weights *)

Definition constant_weight (d i : nat) : R := 1.
Definition linear_weight (d i : nat) : R := (d - i)%:R.
Definition square_weight (d i : nat) : R := ((d - i) ^ 2)%:R.

Definition classical_numerator (d k : nat) : nat := d - k.
Definition classical_denominator (d k : nat) : nat := d.
Definition square_numerator (d k : nat) : nat := (d - k) * (d - k + 1).
Definition square_denominator (d k : nat) : nat := d * (d + 1).
Definition cubic_numerator (d k : nat) : nat := (d - k) * (d - k + 1) * (2 * (d - k) + 1).
Definition cubic_denominator (d k : nat) : nat := d * (d + 1) * (2 * d + 1).

Definition classical_share (d k : nat) : R := (classical_numerator d k)%:R / (classical_denominator d k)%:R.
Definition square_share (d k : nat) : R := (square_numerator d k)%:R / (square_denominator d k)%:R.
Definition cubic_share (d k : nat) : R := (cubic_numerator d k)%:R / (cubic_denominator d k)%:R.

Lemma constant_tail k d : tail (constant_weight d) k d = (classical_numerator d k)%:R.
Proof. by rewrite /tail sumr_const_nat. Qed.

Lemma descending_sum (f : nat -> nat) k d :
  (k <= d)%N -> (\sum_(k <= i < d) f (d - i) = \sum_(0 <= m < d - k) f m.+1)%N.
Proof.
move=> kd; rewrite big_nat_rev /= -{1}[k]add0n big_addn; apply: eq_big_nat => m /andP[_ mk].
by congr f; lia.
Qed.

Lemma linear_sum n : (2 * (\sum_(0 <= m < n) m.+1) = n * (n + 1))%N.
Proof. by elim: n => [|n IH]; [rewrite big_geq | rewrite big_nat_recr //= mulnDr IH; lia]. Qed.

Lemma square_sum n : (6 * (\sum_(0 <= m < n) m.+1 ^ 2) = n * (n + 1) * (2 * n + 1))%N.
Proof.
elim: n => [|n IH]; first by rewrite big_geq.
by rewrite big_nat_recr //= mulnDr IH; lia.
Qed.

Lemma linear_tail k d : (k <= d)%N -> 2%:R * tail (linear_weight d) k d = (square_numerator d k)%:R.
Proof.
move=> kd; rewrite /tail /linear_weight -natr_sum (descending_sum id kd) -natrM linear_sum.
by [].
Qed.

Lemma square_tail k d : (k <= d)%N -> 6%:R * tail (square_weight d) k d = (cubic_numerator d k)%:R.
Proof.
move=> kd; rewrite /tail /square_weight -natr_sum (descending_sum (fun m => m ^ 2)%N kd) -natrM.
by rewrite square_sum.
Qed.

Theorem classical_best k d : (0 < d)%N -> (k <= d)%N -> best_share (constant_weight d) k d (classical_share d k).
Proof.
move=> d_gt0 kd; rewrite /classical_share.
have -> : (classical_denominator d k)%:R = tail (constant_weight d) 0 d.
  by rewrite constant_tail /classical_numerator subn0.
rewrite -constant_tail; apply: share_is_best => //.
by rewrite constant_tail /classical_numerator subn0 ltr0n.
Qed.

Theorem square_best k d : (0 < d)%N -> (k <= d)%N -> best_share (linear_weight d) k d (square_share d k).
Proof.
move=> d_gt0 kd; rewrite /square_share -(linear_tail kd).
have -> : (square_denominator d k)%:R = 2%:R * tail (linear_weight d) 0 d.
  by rewrite (linear_tail (leq0n d)) /square_numerator subn0.
have two : 2%:R != 0 :> R by rewrite pnatr_eq0.
rewrite -mulf_div divff // mul1r; apply: share_is_best => //.
by rewrite -(pmulr_rgt0 _ (ltr0n _ 2)) (linear_tail (leq0n d)) ltr0n /square_numerator subn0; lia.
Qed.

Theorem cubic_best k d : (0 < d)%N -> (k <= d)%N -> best_share (square_weight d) k d (cubic_share d k).
Proof.
move=> d_gt0 kd; rewrite /cubic_share -(square_tail kd).
have -> : (cubic_denominator d k)%:R = 6%:R * tail (square_weight d) 0 d.
  by rewrite (square_tail (leq0n d)) /cubic_numerator subn0.
have six : 6%:R != 0 :> R by rewrite pnatr_eq0.
rewrite -mulf_div divff // mul1r; apply: share_is_best => //.
by rewrite -(pmulr_rgt0 _ (ltr0n _ 6)) (square_tail (leq0n d)) ltr0n /cubic_numerator subn0; lia.
Qed.

End Tail.

