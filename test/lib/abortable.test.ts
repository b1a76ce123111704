/** Work that is not waited for any more. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { abortable } from '../../packages/server/src/lib/abortable.ts'

test('work that fails after the signal has aborted, or whose signal had, ends no process', async () => {
  const unhandled: unknown[] = []
  const note = (reason: unknown): void => void unhandled.push(reason)
  process.on('unhandledRejection', note)
  try {
    const failing = (): Promise<never> => sleep(5).then(() => Promise.reject(new Error('the client left')))
    await assert.rejects(abortable(failing(), AbortSignal.abort(new Error('stopped before'))), /stopped before/)
    const controller = new AbortController()
    const waiting = abortable(failing(), controller.signal)
    controller.abort(new Error('stopped meanwhile'))
    await assert.rejects(waiting, /stopped meanwhile/)
    await sleep(30)
    assert.deepEqual(unhandled, [])
  } finally {
    process.off('unhandledRejection', note)
  }
})
