/** Warms a program up before it is measured. */
import { type Caller, load } from './http-load.ts'

/** V8 has compiled the hot code after this many requests; slow programs get at most this long. */
const WARM_REQUESTS = 100_000
const WARM_MS = Number(process.env.BENCH_WARM_MS ?? 10_000)

export async function warm(port: number, next: () => Buffer, requests = WARM_REQUESTS): Promise<void> {
  const callers = Array.from({ length: 32 }, (): Caller => ({ next }))
  const until = performance.now() + WARM_MS
  let responses = 0
  while (responses < requests && performance.now() < until) {
    responses += (await load(port, callers, Math.min(1000, until - performance.now()))).responses
  }
}
