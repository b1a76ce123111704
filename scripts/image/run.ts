/** `npm run image`: writes the image to an archive for `docker load` and `podman load`; `npm run image -- FILE` names it. */
import { relative, resolve } from 'node:path'
import { ARCHIVE, buildImage, compressedBytes, missingTools } from './build.ts'

const isForTests = process.argv.includes('--for-tests')
const [file] = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const archive = file === undefined ? ARCHIVE : resolve(file)

const missing = missingTools(['buildah', 'apt-get', 'dpkg-deb'])
if (missing === undefined) {
  await buildImage(archive)
  const megabytes = (await compressedBytes(archive)) / 1e6
  process.stdout.write(`${relative(process.cwd(), archive)}: ${megabytes.toFixed(1)} MB when compressed\n`)
} else {
  process.stderr.write(`The image cannot be built. ${missing}\n`)
  // Tests that need it are skipped with the same words.
  process.exitCode = isForTests ? 0 : 2
}
