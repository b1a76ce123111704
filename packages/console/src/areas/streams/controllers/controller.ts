/** A remote controller, as `/admin/controllers` has it, and while it is typed. */
import { typedWhole } from '../../../ui/number.ts'

export interface RemoteController {
  readonly name: string
  readonly class: string
  readonly url: string
  readonly topics: readonly RemoteTopic[]
  readonly timeout: string
  readonly concurrency: number
}

export interface RemoteTopic {
  readonly name: string
  /** `identity`, or a scope. */
  readonly needs: string
  readonly require_acr?: number | undefined
  readonly require_age?: number | string | undefined
}

/** Empty texts stand for defaults. */
export interface Draft {
  readonly name: string
  readonly class: string
  readonly url: string
  readonly topics: readonly RemoteTopic[]
  readonly timeout: string
  readonly concurrency: string
}

export const EMPTY_DRAFT: Draft = {
  ...{ name: '', class: 'Channel', url: '', timeout: '', concurrency: '' },
  topics: [{ name: '', needs: 'identity' }],
}

export function draftController({ concurrency, ...rest }: RemoteController): Draft {
  return { ...rest, concurrency: String(concurrency) }
}

/** The body of the request; the server says what is wrong with a value. */
export function buildDefinition({ class: kind, url, topics, timeout, concurrency }: Draft): object {
  const given = typedWhole(concurrency)
  return {
    ...{ class: kind, url: url.trim(), topics: topics.map(({ name, ...rest }) => ({ name: name.trim(), ...rest })) },
    ...(timeout.trim() !== '' && { timeout: timeout.trim() }),
    ...(given !== '' && { concurrency: /^\d{1,9}$/.test(given) ? Number(given) : concurrency }),
  }
}

export function controllerPath(name: string): string {
  return `/admin/controllers/${encodeURIComponent(name)}`
}
