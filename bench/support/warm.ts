/** Brings a program to its speed before it is timed. */
import { type Caller, load } from './http-load.ts'

/** A program that compiles while it runs is at its speed after so many requests; slow ones are given no longer than this. */
const WARM_REQUESTS = 100_000
const WARM_MS = Number(process.env.BENCH_WARM_MS ?? 10_000)

export async function warm(port: number, next: () => Buffer, requests = WARM_REQUESTS): Promise<void> {
  const callers = Array.from({ length: 32 }, (): Caller => ({ next }))
  const until = performance.now() + WARM_MS
  let answers = 0
  while (answers < requests && performance.now() < until) {
    answers += (await load(port, callers, Math.min(1000, until - performance.now()))).answers
  }
}
