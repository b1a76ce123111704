/** The servers that run on a data folder, each with a file that names its issuer: servers on one folder must agree on it. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { BadDataFolder } from './data-folder.ts'
import { isRunning, nodeName } from './nodes.ts'

/** Ends in .pid, which backups skip. */
const FILE = /^server-\d+\.pid$/

interface RunningServer {
  readonly name: string
  readonly issuer: string
}

/** Throws BadDataFolder if a server with another issuer runs on the folder. */
export function refuseOtherIssuer(folder: string, issuer: string): void {
  const other = othersOn(folder).find((server) => server.issuer !== issuer)
  if (other === undefined) return
  throw new BadDataFolder(
    `Another server (process ${processOf(other)}) runs on the data folder ${folder} with the issuer ${other.issuer}, and this one would have ${issuer}: set the same GATEHOUSE_ISSUER for both, or GATEHOUSE_DATA to another folder.`,
  )
}

/** Of a server that runs on the folder; it may have been started with other settings than a command is called with. */
export function runningIssuer(folder: string): string | undefined {
  return othersOn(folder)[0]?.issuer
}

/** The ids of the processes of the servers that run on the folder. */
export function runningProcesses(folder: string): number[] {
  return othersOn(folder).map(processOf)
}

function processOf({ name }: RunningServer): number {
  return Number(name.slice(name.lastIndexOf(':') + 1))
}

/** Registers this process until the returned function is called. */
export function registerServer(folder: string, issuer: string): () => void {
  const file = join(folder, `server-${process.pid}.pid`)
  writeFileSync(file, JSON.stringify({ name: nodeName(), issuer } satisfies RunningServer), { mode: 0o600 })
  const unregister = () => rmSync(file, { force: true })
  try {
    // Again: of two that start at the same time, at least one sees the other.
    refuseOtherIssuer(folder, issuer)
  } catch (error) {
    unregister()
    throw error
  }
  return unregister
}

/** Also removes the files of servers that were killed. */
function othersOn(folder: string): RunningServer[] {
  return filesOf(folder).flatMap((name) => {
    const file = join(folder, name)
    const server = readServer(file)
    if (server !== undefined && isRunning(server.name)) return [server]
    if (name !== `server-${process.pid}.pid`) rmSync(file, { force: true })
    return []
  })
}

function filesOf(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => FILE.test(name))
  } catch {
    return []
  }
}

/** Undefined for a file that is being written or was cut off by a crash. */
function readServer(file: string): RunningServer | undefined {
  try {
    const { name, issuer }: Record<string, unknown> = JSON.parse(readFileSync(file, 'utf8'))
    return typeof name === 'string' && typeof issuer === 'string' ? { name, issuer } : undefined
  } catch {
    return undefined
  }
}
