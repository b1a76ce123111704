/** Waits for what happens elsewhere, and fails when it does not happen in time. */
import { setTimeout as sleep } from 'node:timers/promises'

export async function until(what: string, withinMs: number, happened: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + withinMs
  while (!(await happened())) {
    if (Date.now() > end) throw new Error(`Within ${withinMs} ms it did not happen that ${what}`)
    await sleep(10)
  }
}
