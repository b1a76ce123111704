/** Checks the data folder: present, ours, private, writable, with space left. */
import { accessSync, constants, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { MARK } from '../../store/database/data-folder.ts'
import { type Finding, fault, ok, reasonOf, warning } from './finding.ts'

const MIN_FREE_BYTES = 200 * 1024 * 1024

export function checkFolder(path: string): Finding[] {
  let entries: string[]
  try {
    entries = readdirSync(path)
  } catch (error) {
    return [
      fault(
        'folder.missing',
        `The data folder ${path} cannot be read (${reasonOf(error)})`,
        'Set GATEHOUSE_DATA to the folder; the first "gatehouse serve" creates it.',
      ),
    ]
  }
  const findings = [...checkMark(path, entries), ...checkPermissions(path, entries), ...checkSpace(path)]
  return findings.length > 0 ? findings : [ok('folder', `The data folder ${path} is complete and private`)]
}

function checkMark(path: string, entries: readonly string[]): Finding[] {
  if (!entries.includes(MARK))
    return [
      fault(
        'folder.foreign',
        `${path} is not a gatehouse data folder: it has no ${MARK}`,
        'Set GATEHOUSE_DATA to the right folder, or restore a backup.',
      ),
    ]
  try {
    JSON.parse(readFileSync(join(path, MARK), 'utf8'))
    return []
  } catch (error) {
    return [fault('folder.damaged', `${join(path, MARK)} is damaged (${reasonOf(error)})`, 'Restore a backup.')]
  }
}

function checkPermissions(path: string, entries: readonly string[]): Finding[] {
  const findings: Finding[] = []
  try {
    accessSync(path, constants.W_OK)
  } catch {
    findings.push(
      fault(
        'folder.readonly',
        `This user may not write to ${path}`,
        'Make the user that runs gatehouse the owner of the folder.',
      ),
    )
  }
  const isOpen = (file: string) => (statSync(file).mode & 0o077) !== 0
  if (isOpen(path)) findings.push(fault('folder.open', `Other users can read ${path}`, `chmod 700 ${path}`))
  for (const entry of entries.filter((name) => name.endsWith('.key') && isOpen(join(path, name))))
    findings.push(
      fault('folder.key_open', `Other users can read ${join(path, entry)}`, `chmod 600 ${join(path, entry)}`),
    )
  const open = entries.filter((name) => DATABASE_FILE.test(name) && isOpen(join(path, name)))
  if (open.length > 0)
    findings.push(
      fault(
        'folder.database_open',
        `Other users can read ${open.join(', ')} in ${path}`,
        `chmod 600 ${open.map((name) => join(path, name)).join(' ')}`,
      ),
    )
  return findings
}

const DATABASE_FILE = /\.db(-wal|-shm|-journal)?$/

function checkSpace(path: string): Finding[] {
  const { bavail, bsize } = statfsSync(path)
  const free = bavail * bsize
  if (free >= MIN_FREE_BYTES) return []
  const megabytes = Math.floor(free / 1024 / 1024)
  return [
    warning(
      'folder.full',
      `The disk of ${path} has ${megabytes} MiB left`,
      'Free some space: writes fail when the disk is full.',
    ),
  ]
}
