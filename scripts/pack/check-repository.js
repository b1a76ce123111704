// Run by npm before a package is published: its manifest must name the repository that it is built in, which provenance proves.
import { readFileSync } from 'node:fs'

const { name, repository } = JSON.parse(readFileSync('package.json', 'utf8'))
if (/[/.]example\.com\//.test(repository.url)) {
  console.error(
    `${name} is not published: its package.json names the repository ${repository.url}, which is an example. Set the address of yours: npm pkg set repository.url=git+https://… --workspace gatehouse-server --workspace gatehouse-client`,
  )
  process.exit(1)
}
