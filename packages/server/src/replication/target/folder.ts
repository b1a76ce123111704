/** Objects as files, such as in a folder that another machine exports. */
import { randomBytes } from 'node:crypto'
import { link, mkdir, open, readdir, readFile, rename, rm, stat, unlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { MAX_OBJECT_BYTES, type Target, TargetFailed } from './target.ts'

export class FolderTarget implements Target {
  readonly location: string
  readonly #root: string

  constructor(root: string) {
    this.location = `file://${root}`
    this.#root = root
  }

  async put(name: string, content: Buffer, signal: AbortSignal): Promise<boolean> {
    const path = join(this.#root, name)
    const write = async (): Promise<boolean> => {
      await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      return writeNew(path, content)
    }
    try {
      return await untilAborted(write(), signal)
    } catch (error) {
      throw signal.aborted ? new TargetFailed(`${this.location} does not answer`) : explain(error, this.location)
    }
  }

  async get(name: string): Promise<Buffer | undefined> {
    const path = join(this.#root, name)
    try {
      if ((await stat(path)).size <= MAX_OBJECT_BYTES) return await readFile(path)
    } catch (error) {
      if (isMissing(error)) return undefined
      throw explain(error, this.location)
    }
    throw new TargetFailed(`${name} at ${this.location} is larger than any object of a backup`)
  }

  async *list(folder: string, after = ''): AsyncGenerator<string> {
    for (const name of await this.#names(folder)) if (name > after) yield name
  }

  async #names(folder: string): Promise<readonly string[]> {
    const base = folder.replace(/\/$/, '')
    try {
      const entries = await readdir(join(this.#root, base), { recursive: true, withFileTypes: true })
      return entries
        .filter((entry) => entry.isFile() && !entry.name.endsWith('.new'))
        .map(({ parentPath, name }) => join(parentPath, name).slice(this.#root.length + 1))
        .sort()
    } catch (error) {
      if (isMissing(error)) return []
      throw explain(error, this.location)
    }
  }

  async folders(): Promise<readonly string[]> {
    try {
      const entries = await readdir(this.#root, { withFileTypes: true })
      return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name)
    } catch (error) {
      if (isMissing(error)) return []
      throw explain(error, this.location)
    }
  }

  async remove(names: readonly string[]): Promise<void> {
    for (const name of names) await rm(join(this.#root, name), { force: true })
  }

  close(): void {}
}

/** A file system of the network may never answer, and cannot be told to give up. */
function untilAborted<Result>(running: Promise<Result>, signal: AbortSignal): Promise<Result> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted()
    const give = (): void => reject(signal.reason)
    signal.addEventListener('abort', give, { once: true })
    running.then(resolve, reject).finally(() => signal.removeEventListener('abort', give))
  })
}

/** Whole, on disk, and not in place of another one. */
async function writeNew(path: string, content: Buffer): Promise<boolean> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.new`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    try {
      // Fails where there is one, as a rename does not.
      await link(temporary, path)
    } catch (error) {
      if (codeOf(error) === 'EEXIST') return false
      if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(codeOf(error))) throw error
      // A file system without links.
      if (await exists(path)) return false
      await rename(temporary, path)
    }
    await syncFolder(dirname(path))
    return true
  } finally {
    await unlink(temporary).catch(() => {})
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

async function syncFolder(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const folder = await open(path)
  try {
    await folder.sync()
  } finally {
    await folder.close()
  }
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes(codeOf(error))
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function explain(error: unknown, location: string): TargetFailed {
  const code = codeOf(error)
  const what =
    code === 'ENOSPC' || code === 'EDQUOT'
      ? 'has no space left'
      : code === 'EACCES' || code === 'EPERM' || code === 'EROFS'
        ? 'cannot be written by this user'
        : `cannot be used (${code === '' ? String(error) : code})`
  return new TargetFailed(`${location} ${what}`, { cause: error })
}
