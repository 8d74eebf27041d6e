(** * The tail lemma for every power

The weights [(d - i)^r], [r = 0, 1, 2, ...], with [i] counted from zero, put the whole ladder into one family. With
[S_r(n) = 1^r + ... + n^r], [n = d - k] and [0 < d]:

- [S_r(n) / S_r(d)] is the best constant for the weight [(d - i)^r];
- [r = 0, 1, 2] are the classical, the square and the cubic share;
- the share falls as [r] grows;
- it is at most [C(n + r, r + 1) / C(d + r, r + 1)] and, for [r >= 1], at least [n^r (n + 1) / (d^r (d + 1))]: binomial
  coefficients, and the first and the last term of the sums; [r = 1] attains both;
- so it is at least [(n / d)^(r + 1)], the value of the integral of the weight: that constant is too small. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import zify.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import tail.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.

Definition power_sum (r n : nat) : nat := sumn [seq m ^ r | m <- iota 1 n].

Lemma power_sumE r n : power_sum r n = \sum_(0 <= m < n) m.+1 ^ r.
Proof. by rewrite /power_sum sumnE big_map -[1]addn0 iotaDl big_map /index_iota subn0. Qed.

Lemma power_sum_gt0 r n : 0 < n -> 0 < power_sum r n.
Proof. by case: n => // n _; rewrite !power_sumE big_nat_recl // exp1n. Qed.

Lemma expn_le m n r : m <= n -> m ^ r <= n ^ r.
Proof. by case: r => // r mn; rewrite leq_exp2r. Qed.

(** ** Two inequalities between natural numbers *)

Lemma binomial_sum r n : \sum_(0 <= m < n) 'C(m + r, r) = 'C(n + r, r.+1).
Proof.
elim: n => [|n IH]; first by rewrite big_geq // bin_small.
by rewrite big_nat_recr //= IH addSn binS.
Qed.

Lemma power_binomial r l m : l <= m -> l.+1 ^ r * 'C(m + r, r) <= m.+1 ^ r * 'C(l + r, r).
Proof.
move=> lm; rewrite -(leq_pmul2r (fact_gt0 r)) -!mulnA !bin_ffact.
elim: r => // r IH; rewrite !expnS !addnS !ffactSS mulnACA [X in _ <= X]mulnACA.
by apply: leq_mul => //; nia.
Qed.

(** The mean of a power is at least the power of the mean. *)
Lemma power_convex r a b x y :
  x <= y -> (a * x + b * y) ^ r * (a + b) <= (a + b) ^ r * (a * x ^ r + b * y ^ r).
Proof.
move=> xy; elim: r => [|r IH]; first by rewrite !muln1 mul1n.
rewrite expnS -mulnA; apply: leq_trans (leq_mul (leqnn _) IH) _.
rewrite mulnCA !expnS -!mulnA [((a + b) * _)]mulnCA leq_mul2l; apply/orP; right.
have := expn_le r xy; move: (x ^ r) (y ^ r) => X Y XY.
rewrite -(subnKC xy) -(subnKC XY); move: (y - x) (Y - X) => u U {xy XY IH}.
apply: leq_trans (leq_addr (a * b * (u * U)) _) _. nia.
Qed.

Lemma power_sum_step r n :
  n ^ r.+1 * n.+1 * power_sum r.+1 n.+1 <= power_sum r.+1 n * (n.+1 ^ r.+1 * n.+2).
Proof.
have convex m : m < n.+1 ->
    (m.+1 * n) ^ r.+1 * n.+1 <= n.+1 ^ r.+1 * (m.+1 * m ^ r.+1 + (n - m) * m.+1 ^ r.+1).
  move=> mn; have := power_convex r.+1 m.+1 (n - m) (leqnSn m).
  have -> : m.+1 + (n - m) = n.+1 by lia.
  by have -> : m.+1 * m + (n - m) * m.+1 = m.+1 * n by nia.
have -> : n ^ r.+1 * n.+1 * power_sum r.+1 n.+1 = \sum_(0 <= m < n.+1) (m.+1 * n) ^ r.+1 * n.+1.
  rewrite !power_sumE big_distrr /=; apply: eq_bigr => m _; rewrite expnMn; lia.
apply: (@leq_trans (\sum_(0 <= m < n.+1) n.+1 ^ r.+1 * (m.+1 * m ^ r.+1 + (n - m) * m.+1 ^ r.+1))).
  by rewrite big_nat_cond [X in _ <= X]big_nat_cond; apply: leq_sum => m /andP[/andP[_ mn] _]; apply: convex.
rewrite -big_distrr big_split /= [power_sum _ _ * _]mulnC -mulnA leq_mul2l; apply/orP; right.
rewrite big_nat_recl // big_nat_recr //= subnn exp0n // muln0 add0n mul0n addn0 -big_split power_sumE big_distrr /=.
rewrite big_nat_cond [X in _ <= X]big_nat_cond; apply: leq_sum => m /andP[/andP[_ mn] _].
by rewrite -mulnDl leq_mul2r; apply/orP; right; lia.
Qed.

Lemma power_sum_ratio r n d : n <= d ->
  n ^ r.+1 * n.+1 * power_sum r.+1 d <= power_sum r.+1 n * (d ^ r.+1 * d.+1).
Proof.
case: (posnP n) => [-> | n_gt0]; first by rewrite exp0n.
move=> nd; rewrite -(subnK nd); elim: (d - n) => [|m IH] {d nd}; first by rewrite add0n mulnC.
have pos : 0 < (m + n) ^ r.+1 * (m + n).+1 by rewrite muln_gt0 expn_gt0 addn_gt0 n_gt0 orbT.
rewrite addSn -(leq_pmul2l pos) mulnCA; apply: leq_trans (leq_mul (leqnn _) (power_sum_step r (m + n))) _.
by rewrite mulnA [X in _ <= X]mulnA [X in _ <= X * _]mulnC leq_mul2r IH orbT.
Qed.

Local Open Scope ring_scope.

Section Powers.

Variable R : realFieldType.

Definition power_weight (r d i : nat) : R := ((d - i) ^ r)%:R.
Definition power_share (r d k : nat) : R := (power_sum r (d - k))%:R / (power_sum r d)%:R.

Lemma power_tail r k d : (k <= d)%N -> tail (power_weight r d) k d = (power_sum r (d - k))%:R.
Proof. by move=> kd; rewrite /tail /power_weight -natr_sum (descending_sum (fun m => m ^ r)%N kd) power_sumE. Qed.

Lemma power_shareE r d k : (k <= d)%N ->
  power_share r d k = tail (power_weight r d) k d / tail (power_weight r d) 0 d.
Proof. by move=> kd; rewrite !power_tail // subn0. Qed.

Theorem power_best r k d : (0 < d)%N -> (k <= d)%N -> best_share (power_weight r d) k d (power_share r d k).
Proof.
move=> d_gt0 kd; rewrite power_shareE //; apply: share_is_best => //.
by rewrite power_tail // subn0 ltr0n power_sum_gt0.
Qed.

(** ** The three known shares *)

Lemma best_share_unique (w : nat -> R) k d c c' : best_share w k d c -> best_share w k d c' -> c = c'.
Proof. by move=> [bc lc] [bc' lc']; apply/le_anti; rewrite lc // lc'. Qed.

Theorem power_share0 d k : (0 < d)%N -> (k <= d)%N -> power_share 0 d k = classical_share R d k.
Proof. by move=> d_gt0 kd; apply: best_share_unique (power_best 0 d_gt0 kd) (classical_best R d_gt0 kd). Qed.

Theorem power_share1 d k : (0 < d)%N -> (k <= d)%N -> power_share 1 d k = square_share R d k.
Proof. by move=> d_gt0 kd; apply: best_share_unique (power_best 1 d_gt0 kd) (square_best R d_gt0 kd). Qed.

Theorem power_share2 d k : (0 < d)%N -> (k <= d)%N -> power_share 2 d k = cubic_share R d k.
Proof. by move=> d_gt0 kd; apply: best_share_unique (power_best 2 d_gt0 kd) (cubic_best R d_gt0 kd). Qed.

(** ** The ladder is ordered *)

Lemma power_falls q r k d : (r <= q)%N -> falls_across (power_weight q d) (power_weight r d) k d.
Proof.
move=> rq i j ik kj jd; rewrite /power_weight -!natrM ler_nat -(subnK rq) !expnD -!mulnA.
rewrite [((d - i) ^ r * _)%N]mulnC leq_mul2r expn_le ?orbT // leq_sub2l //.
exact: ltnW (leq_trans ik kj).
Qed.

Theorem power_share_falls q r d k : (r <= q)%N -> (k <= d)%N -> power_share q d k <= power_share r d k.
Proof.
case: (posnP d) => [-> | d_gt0] rq kd.
  by rewrite /power_share sub0n /power_sum /= !mul0r.
rewrite /power_share ler_pdivr_mulr ?ltr0n ?power_sum_gt0 // mulrAC ler_pdivl_mulr ?ltr0n ?power_sum_gt0 //.
by have := tail_cross kd (@power_falls _ _ k d rq); rewrite !power_tail // subn0.
Qed.

(** ** Between two quotients without sums *)

Definition binomial_share (r d k : nat) : R := 'C(d - k + r, r.+1)%:R / 'C(d + r, r.+1)%:R.

Lemma binomial_falls r k d : falls_across (power_weight r d) (fun i => 'C((d - i).-1 + r, r)%:R) k d.
Proof.
move=> i j ik kj jd; rewrite /power_weight -!natrM ler_nat.
have {1}-> : (d - j = (d - j).-1.+1)%N by lia.
have {2}-> : (d - i = (d - i).-1.+1)%N by lia.
by apply: power_binomial; lia.
Qed.

Lemma binomial_tail r k d : (k <= d)%N -> tail (fun i => 'C((d - i).-1 + r, r)%:R) k d = 'C(d - k + r, r.+1)%:R :> R.
Proof. by move=> kd; rewrite /tail -natr_sum (descending_sum (fun m => 'C(m.-1 + r, r)) kd) binomial_sum. Qed.

Theorem power_share_le_binomial r d k : (0 < d)%N -> (k <= d)%N -> power_share r d k <= binomial_share r d k.
Proof.
move=> d_gt0 kd; have bin_pos : 0 < 'C(d + r, r.+1)%:R :> R by rewrite ltr0n bin_gt0; lia.
rewrite /power_share /binomial_share ler_pdivr_mulr ?ltr0n ?power_sum_gt0 // mulrAC ler_pdivl_mulr //.
by have := tail_cross kd (@binomial_falls r k d); rewrite !power_tail // !binomial_tail // subn0.
Qed.

Definition endpoint_share (r d k : nat) : R := ((d - k) ^ r * (d - k).+1)%:R / (d ^ r * d.+1)%:R.

Theorem endpoint_share_le_power r d k :
  (0 < r)%N -> (0 < d)%N -> (k <= d)%N -> endpoint_share r d k <= power_share r d k.
Proof.
case: r => // r _ d_gt0 kd; have pos : 0 < (d ^ r.+1 * d.+1)%:R :> R by rewrite ltr0n muln_gt0 expn_gt0 d_gt0.
rewrite /power_share /endpoint_share ler_pdivr_mulr // mulrAC ler_pdivl_mulr ?ltr0n ?power_sum_gt0 //.
by rewrite -!natrM ler_nat power_sum_ratio // leq_subr.
Qed.

(** Both are attained at [r = 1]. *)
Lemma endpoint_share1 d k : endpoint_share 1 d k = square_share R d k.
Proof. by rewrite /endpoint_share /square_share /square_numerator /square_denominator !expn1 !addn1. Qed.

Lemma binomial_share1 d k : binomial_share 1 d k = square_share R d k.
Proof.
have two : 2%:R != 0 :> R by rewrite pnatr_eq0.
have double n : 2%:R * 'C(n + 1, 2)%:R = (n * (n + 1))%:R :> R.
  by rewrite -natrM mulnC addn1 -[2%N in LHS]/(2`!) bin_ffact ffactSS ffactn1 mulnC.
by rewrite /square_share /square_numerator /square_denominator -!double -mulf_div divff // mul1r.
Qed.

(** ** The integral's constant *)

Definition integral_share (r d k : nat) : R := classical_share R d k ^+ r.+1.

Theorem integral_share_le_power r d k : (0 < d)%N -> (k <= d)%N -> integral_share r d k <= power_share r d k.
Proof.
case: r => [|r] d_gt0 kd; first by rewrite /integral_share expr1 power_share0.
apply: le_trans (endpoint_share_le_power _ d_gt0 kd) => //.
rewrite /integral_share /endpoint_share /classical_share /classical_numerator /classical_denominator expr_div_n.
rewrite ler_pdivr_mulr ?exprn_gt0 ?ltr0n // mulrAC ler_pdivl_mulr ?ltr0n ?muln_gt0 ?expn_gt0 ?d_gt0 //.
rewrite -!natrX -!natrM ler_nat [((d - k) ^ r.+2)%N]expnSr [(d ^ r.+2)%N]expnSr mulnACA [X in (_ <= X)%N]mulnACA.
by rewrite leq_mul2l; apply/orP; right; nia.
Qed.

(** For [r >= 1] it is too small. *)
Theorem integral_constant_fails r d k :
  (0 < r)%N -> (0 < k)%N -> (k < d)%N -> ~ bounds_share (power_weight r d) k d (integral_share r d k).
Proof.
move=> r_gt0 k_gt0 kd bounds; have d_gt0 : (0 < d)%N := leq_ltn_trans (leq0n k) kd.
have [_ best] := power_best r d_gt0 (ltnW kd); have := best _ bounds; apply/negP; rewrite -ltNge.
case: r r_gt0 {bounds best} => // r _; apply: lt_le_trans (endpoint_share_le_power _ d_gt0 (ltnW kd)) => //.
rewrite /integral_share /endpoint_share /classical_share /classical_numerator /classical_denominator expr_div_n.
rewrite ltr_pdivr_mulr ?exprn_gt0 ?ltr0n // mulrAC ltr_pdivl_mulr ?ltr0n ?muln_gt0 ?expn_gt0 ?d_gt0 //.
rewrite -!natrX -!natrM ltr_nat [((d - k) ^ r.+2)%N]expnSr [(d ^ r.+2)%N]expnSr mulnACA [X in (_ < X)%N]mulnACA.
rewrite ltn_mul2l muln_gt0 !expn_gt0 subn_gt0 kd d_gt0 /=; nia.
Qed.

End Powers.
