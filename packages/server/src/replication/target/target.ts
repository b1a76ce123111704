/** Where objects are stored. */

/** None of a backup is larger: a merged segment has 32 MiB of pages, and those of one more segment. What is larger is not read. */
export const MAX_OBJECT_BYTES = 64 * 1024 * 1024

export interface Target {
  /** As messages show it, without credentials. */
  readonly location: string
  /** Resolves when the object is stored: false if there is one of this name already, which stays as it is. */
  put(name: string, content: Buffer, signal: AbortSignal): Promise<boolean>
  /** Undefined if there is no such object. */
  get(name: string, signal?: AbortSignal): Promise<Buffer | undefined>
  /** The names of the objects of a folder and those below it, in the order of their names; `after` leaves out those up to a name. */
  list(folder: string, after?: string): AsyncGenerator<string>
  /** The folders directly below the prefix. */
  folders(): Promise<readonly string[]>
  remove(names: readonly string[]): Promise<void>
  close(): void
}

/** It does not do what it should, in words for the operator. */
export class TargetFailed extends Error {
  override name = 'TargetFailed'
}
