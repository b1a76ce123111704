/** Preloaded in a process whose clock goes BENCH_CLOCK_SPEED times as fast, so that a day of replication takes minutes. */
const speed = Number(process.env.BENCH_CLOCK_SPEED ?? 1)
const real = Date.now
const started = real()

Date.now = () => Math.round(started + (real() - started) * speed)
