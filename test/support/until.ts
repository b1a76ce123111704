/** Waits for what happens elsewhere, and fails when it does not happen in time. */
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

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

/** Another node learns of a change shortly after it was made. */
export async function soon(read: () => Promise<unknown[]>, expected: readonly unknown[]): Promise<void> {
  let found: unknown[] = []
  await until(`every node sees ${expected}`, 1000, async () => {
    found = await read()
    return isDeepStrictEqual(found, expected)
  }).catch(() => assert.deepEqual(found, expected))
}
