/** The data folder: there, ours, closed to others, writable, with room left. */
import { accessSync, constants, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { MARK } from '../../store/data-folder.ts'
import { type Finding, fault, ok, reasonOf, warning } from './finding.ts'

const LITTLE_ROOM = 200 * 1024 * 1024

export function examineFolder(path: string): Finding[] {
  let entries: string[]
  try {
    entries = readdirSync(path)
  } catch (error) {
    return [
      fault(
        'folder.missing',
        `The data folder ${path} cannot be read (${reasonOf(error)})`,
        'Name it with GATEHOUSE_DATA; the first "gatehouse serve" makes it.',
      ),
    ]
  }
  const findings = [...markFindings(path, entries), ...modeFindings(path, entries), ...roomFindings(path)]
  return findings.length > 0 ? findings : [ok('folder', `The data folder ${path} is whole and closed to others`)]
}

function markFindings(path: string, entries: readonly string[]): Finding[] {
  if (!entries.includes(MARK))
    return [
      fault(
        'folder.foreign',
        `${path} is not a gatehouse data folder: it has no ${MARK}`,
        'Name the right folder with GATEHOUSE_DATA, or restore a backup.',
      ),
    ]
  try {
    JSON.parse(readFileSync(join(path, MARK), 'utf8'))
    return []
  } catch (error) {
    return [fault('folder.damaged', `${join(path, MARK)} is damaged (${reasonOf(error)})`, 'Restore a backup.')]
  }
}

function modeFindings(path: string, entries: readonly string[]): Finding[] {
  const findings: Finding[] = []
  try {
    accessSync(path, constants.W_OK)
  } catch {
    findings.push(
      fault(
        'folder.readonly',
        `This user may not write to ${path}`,
        'Give the folder to the user that runs gatehouse.',
      ),
    )
  }
  const open = ['', ...entries].filter((entry) => (statSync(join(path, entry)).mode & 0o077) !== 0)
  const secret = open.filter((entry) => entry === '' || entry.endsWith('.key') || entry.endsWith('.db'))
  if (secret.includes('') || (statSync(path).mode & 0o077) !== 0)
    findings.push(fault('folder.open', `Others can look into ${path}`, `chmod 700 ${path}`))
  for (const entry of secret.filter((name) => name.endsWith('.key')))
    findings.push(fault('folder.key_open', `Others can read ${join(path, entry)}`, `chmod 600 ${join(path, entry)}`))
  return findings
}

function roomFindings(path: string): Finding[] {
  const { bavail, bsize } = statfsSync(path)
  const free = bavail * bsize
  if (free >= LITTLE_ROOM) return []
  const megabytes = Math.floor(free / 1024 / 1024)
  return [
    warning(
      'folder.full',
      `The disk of ${path} has ${megabytes} MiB left`,
      'Make room: writes fail when none is left.',
    ),
  ]
}
