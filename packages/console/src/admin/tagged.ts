/** One administration resource with its ETag, so that a concurrent change by another user is not overwritten. */
import { useCallback, useRef } from 'preact/hooks'
import { GatehouseError } from '../../../client/src/index.ts'
import { gate } from '../gate.ts'
import { confirm, type Question } from '../shell/dialogs.tsx'
import { toast, toastError } from '../shell/toasts.tsx'
import { type Loaded, useLoad } from '../ui/index.ts'

export interface Tagged<Item> extends Loaded<Item> {
  /** Changes the given members; null removes one. Says what happened, and resolves with whether it was done. */
  readonly change: (patch: object, done: string) => Promise<boolean>
  /** As `change`, for a form that shows what is wrong: rejects with the error. */
  readonly save: (patch: object) => Promise<void>
  /** Replaces all of it; otherwise as `save`. */
  readonly replace: (item: object) => Promise<void>
  /** Deletes it, in the version that is shown. */
  readonly remove: (done: string) => Promise<boolean>
}

export function useTagged<Item>(path: string): Tagged<Item> {
  const tag = useRef('*')
  const loaded = useLoad<Item>(
    async (signal) => {
      const response = await gate.request(path, { signal })
      const item = (await response.json()) as Item
      // A reply after the abort belongs to another page.
      if (!signal.aborted) tag.current = response.headers.get('etag') ?? '*'
      return item
    },
    [path],
  )
  const { data, reload, set } = loaded
  const request = useCallback(
    async (method: 'PATCH' | 'PUT' | 'DELETE', body?: object): Promise<void> => {
      const type = method === 'PATCH' ? { 'content-type': 'application/merge-patch+json' } : {}
      const headers = { 'if-match': tag.current, ...type }
      const response = await gate.request(path, { method, headers, ...(body && { body }) })
      if (method === 'DELETE') return
      tag.current = response.headers.get('etag') ?? '*'
      // The reply lacks the members that only the page shows.
      set({ ...data, ...without(data, body), ...(await response.json()) } as Item)
    },
    [path, data],
  )
  /** Whether the error was that another user had changed it; then the current version is shown. */
  const showCurrent = (error: unknown): boolean => {
    if (!(error instanceof GatehouseError) || error.code !== 'admin.changed_meanwhile') return false
    reload()
    toast('Another user has changed this in the meantime. The current version is now shown: check it and try again.', {
      kind: 'error',
    })
    return true
  }
  const submit = async (method: 'PATCH' | 'PUT', body: object): Promise<void> => {
    try {
      await request(method, body)
    } catch (error) {
      showCurrent(error)
      throw error
    }
  }
  const send = useCallback(
    async (method: 'PATCH' | 'DELETE', done: string, body?: object): Promise<boolean> => {
      try {
        await request(method, body)
        toast(done)
        return true
      } catch (error) {
        if (!showCurrent(error)) toastError(error)
        return false
      }
    },
    [path, data],
  )
  return {
    ...loaded,
    change: (patch, done) => send('PATCH', done, patch),
    save: (patch) => submit('PATCH', patch),
    replace: (item) => submit('PUT', item),
    remove: (done) => send('DELETE', done),
  }
}

/** The members that a patch removes, as undefined. */
function without(data: unknown, patch: object | undefined): object {
  const removed = Object.entries(patch ?? {}).filter(([, value]) => value === null)
  return data === undefined ? {} : Object.fromEntries(removed.map(([name]) => [name, undefined]))
}

/** Asks before something is lost, does it, says what happened, and resolves with whether it was done. */
export async function confirmAndAttempt(
  question: Omit<Question, 'danger'>,
  work: () => Promise<unknown>,
  done: string,
): Promise<boolean> {
  return (await confirm({ ...question, danger: true })) && (await attempt(work, done))
}

/** Does something, says what happened, and resolves with whether it was done. */
export async function attempt(work: () => Promise<unknown>, done: string): Promise<boolean> {
  try {
    await work()
  } catch (error) {
    toastError(error)
    return false
  }
  toast(done)
  return true
}

/** The server's error for a member of the body, by its name; undefined for other errors. */
export function readFaults(error: unknown): ReadonlyMap<string, string> | undefined {
  if (!(error instanceof GatehouseError) || !Array.isArray(error.details.Faults)) return undefined
  const faults = error.details.Faults as { readonly path?: string; readonly text?: string }[]
  return new Map(faults.map(({ path = '', text = '' }) => [path, text]))
}

/** Whether an error is about anything besides these fields, each of which shows its own. */
export function isElsewhere(error: unknown, fields: readonly string[]): boolean {
  const faults = readFaults(error)
  return error !== undefined && !(faults && [...faults.keys()].every((path) => fields.includes(path)))
}
