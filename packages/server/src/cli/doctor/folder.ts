/** Checks the data folder: present, ours, private, writable, with space left. */
import { accessSync, constants, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { MARK } from '../../store/database/data-folder.ts'
import { type Checked, collect, errorReason, type Finding, fault, ok, warning } from './finding.ts'

const MIN_FREE_BYTES = 200 * 1024 * 1024

export function checkFolder(path: string): readonly Finding[] {
  const isComplete = ok('folder', `The data folder ${path} is complete and private`)
  try {
    const entries = readdirSync(path)
    return collect([checkMark(path, entries), ...checkPermissions(path, entries), checkSpace(path)], isComplete)
  } catch (error) {
    return [
      fault(
        'folder.missing',
        `The data folder ${path} cannot be read (${errorReason(error)})`,
        'Set GATEHOUSE_DATA to the folder; the first "gatehouse serve" creates it.',
      ),
    ]
  }
}

function checkMark(path: string, entries: readonly string[]): Checked {
  if (!entries.includes(MARK))
    return fault(
      'folder.foreign',
      `${path} is not a gatehouse data folder: it has no ${MARK}`,
      'Set GATEHOUSE_DATA to the right folder, or restore a backup.',
    )
  try {
    JSON.parse(readFileSync(join(path, MARK), 'utf8'))
    return undefined
  } catch (error) {
    return fault('folder.damaged', `${join(path, MARK)} is damaged (${errorReason(error)})`, 'Restore a backup.')
  }
}

function* checkPermissions(path: string, entries: readonly string[]): Generator<Finding> {
  try {
    accessSync(path, constants.W_OK)
  } catch {
    yield fault(
      'folder.readonly',
      `This user has no permission to write to ${path}`,
      'Make the user that runs gatehouse the owner of the folder.',
    )
  }
  const isOpen = (file: string) => (statSync(file).mode & 0o077) !== 0
  if (isOpen(path)) yield fault('folder.open', `Other users can read ${path}`, `chmod 700 ${path}`)
  const open = entries.filter((name) => isOpen(join(path, name)))
  for (const file of open.filter((name) => name.endsWith('.key')).map((name) => join(path, name)))
    yield fault('folder.key_open', `Other users can read ${file}`, `chmod 600 ${file}`)
  const databases = open.filter((name) => /\.db(-wal|-shm|-journal)?$/.test(name))
  if (databases.length > 0)
    yield fault(
      'folder.database_open',
      `Other users can read ${databases.join(', ')} in ${path}`,
      `chmod 600 ${databases.map((name) => join(path, name)).join(' ')}`,
    )
}

function checkSpace(path: string): Checked {
  const { bavail, bsize } = statfsSync(path)
  const free = bavail * bsize
  if (free >= MIN_FREE_BYTES) return undefined
  return warning(
    'folder.full',
    `The disk of ${path} has ${Math.floor(free / 1024 / 1024)} MiB left`,
    'Free some space: writes fail when the disk is full.',
  )
}
