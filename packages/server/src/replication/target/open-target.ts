/** Opens the target that `backup_url` names. */
import { fileURLToPath } from 'node:url'
import { FolderTarget } from './folder.ts'
import type { Target } from './target.ts'

export async function openTarget(url: string): Promise<Target> {
  if (!url.startsWith('s3:')) return new FolderTarget(fileURLToPath(url).replace(/(.)\/$/, '$1'))
  const { parseBucketUrl, S3Target } = await import('./s3.ts')
  return new S3Target(parseBucketUrl(url, process.env))
}
