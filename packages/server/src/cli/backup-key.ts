/** `gatehouse backups key`. */
import { randomBytes } from 'node:crypto'

export async function printBackupKey(): Promise<void> {
  process.stdout.write(`${randomBytes(32).toString('base64')}\n`)
}
