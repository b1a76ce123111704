/** Waits for what happens elsewhere, and fails when it does not happen in time. */
import { setTimeout as sleep } from 'node:timers/promises'

/** On a busy machine everything takes longer. What must be quick is measured where it is tested. */
const PATIENCE = 4

export async function until(what: string, usualMs: number, happened: () => boolean | Promise<boolean>): Promise<void> {
  const withinMs = usualMs * PATIENCE
  const end = Date.now() + withinMs
  while (!(await happened())) {
    if (Date.now() > end) throw new Error(`Within ${withinMs} ms it did not happen that ${what}`)
    await sleep(10)
  }
}
