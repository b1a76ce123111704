/** The files of the program that it reads while it serves: the user that runs it may be another than the one that installed it. */
import { accessSync, constants } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Config } from '../config/config.ts'
import type { ReadinessCheck } from '../http/health.ts'
import { CLIENT_FOLDER, CONSOLE_FOLDER, DOCUMENTATION_ROOT, IS_CLONE } from '../lib/program-files.ts'
import type { Logger } from '../telemetry/log.ts'

export interface PartOfInstallation {
  readonly name: string
  /** A file that the part needs. */
  readonly file: string
}

export interface InstallationFault {
  readonly name: string
  readonly kind: 'missing' | 'unreadable'
  readonly path: string
}

/** What the server reads for its visitors. */
export function servedParts({ console }: Pick<Config, 'console'>): readonly PartOfInstallation[] {
  const documentation = { name: 'documentation', file: fileURLToPath(new URL('docs/README.md', DOCUMENTATION_ROOT)) }
  return console ? [{ name: 'console', file: join(CONSOLE_FOLDER, 'manifest.json') }, documentation] : [documentation]
}

/** What programs other than the server read. */
export const CLIENT_LIBRARY: PartOfInstallation = {
  name: 'client library',
  file: join(CLIENT_FOLDER, 'index.js'),
}

/** The first fault of each part. */
export async function findFaults(parts: readonly PartOfInstallation[]): Promise<readonly InstallationFault[]> {
  const faults = await Promise.all(parts.map(findFault))
  return faults.filter((fault) => fault !== undefined)
}

export function describeFault({ name, kind, path }: InstallationFault): string {
  return kind === 'missing'
    ? `the ${name} has not been built: ${path} is missing`
    : `this user has no permission to read ${path}, which is part of the ${name}`
}

export const SET_UP_AGAIN = IS_CLONE
  ? 'Run "npm run setup -- --production" in the folder of gatehouse as the user that owns it: it builds the missing files and makes them readable for all users.'
  : 'Install gatehouse-server again, with a umask that lets the user of the server read its files.'

/** Looks once, without delaying the start, and again for each probe as long as something is wrong. */
export function watchInstallation(config: Config, logger: Logger): ReadinessCheck {
  const look = () => findFaults(servedParts(config))
  let last = look()
  void last.then((faults) => {
    for (const fault of faults) logger.error({ path: fault.path }, `${describeFault(fault)}. ${SET_UP_AGAIN}`)
  })
  return async () => {
    if ((await last).length > 0) last = look()
    const faults = await last
    return faults.length === 0 ? undefined : faults.map(({ name, kind }) => `the ${name} is ${kind}`).join(', ')
  }
}

async function findFault({ name, file }: PartOfInstallation): Promise<InstallationFault | undefined> {
  const folder = join(file, '..')
  try {
    await stat(file)
    const unreadable = await firstUnreadable(folder)
    return unreadable === undefined ? undefined : { name, kind: 'unreadable', path: unreadable }
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error && error.code === 'ENOENT'
    return isMissing ? { name, kind: 'missing', path: file } : { name, kind: 'unreadable', path: folder }
  }
}

/** The hundreds of files are asked for one by one, but not each in a turn of its own, which would be a third of the time of a start. */
async function firstUnreadable(folder: string): Promise<string | undefined> {
  const entries = await readdir(folder, { withFileTypes: true })
  const unreadable = entries.find((entry) => !isReadable(join(folder, entry.name), entry.isDirectory()))
  if (unreadable !== undefined) return join(folder, unreadable.name)
  for (const entry of entries) {
    const inside = entry.isDirectory() ? await firstUnreadable(join(folder, entry.name)) : undefined
    if (inside !== undefined) return inside
  }
  return undefined
}

function isReadable(path: string, isFolder: boolean): boolean {
  try {
    accessSync(path, isFolder ? constants.R_OK | constants.X_OK : constants.R_OK)
    return true
  } catch {
    return false
  }
}
