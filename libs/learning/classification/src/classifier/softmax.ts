/** e^aᵢ / Σⱼ e^aⱼ, safe for large logits. */
export function softmax(logits: ArrayLike<number>): Float64Array {
  const exponentials = Float64Array.from(logits);
  const largest = exponentials.reduce((a, b) => Math.max(a, b), -Infinity);
  let sum = 0;
  exponentials.forEach((v, i) => (sum += exponentials[i] = Math.exp(v - largest)));
  return exponentials.map((v) => v / sum);
}

/** The position of the largest number, the first where several are. */
export function mostLikely(probabilities: ArrayLike<number>): number {
  let best = 0;
  for (let i = 1; i < probabilities.length; i++) if (probabilities[i] > probabilities[best]) best = i;
  return best;
}
