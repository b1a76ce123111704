/** Serves a folder of files: node examples/spa/server.js [FOLDER] [PORT] */
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { extname, join, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'

const [folder = fileURLToPath(new URL('.', import.meta.url)), port = '5090'] = process.argv.slice(2)
const types = new Map([
  ['.html', 'text/html; charset=utf-8'],
  ['.js', 'text/javascript; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
])

const server = createServer(async ({ url = '/' }, response) => {
  try {
    const file = findFile(new URL(url, 'http://localhost').pathname)
    const content = await readFile(file)
    response.setHeader('content-type', types.get(extname(file)) ?? 'application/octet-stream').end(content)
  } catch {
    response.writeHead(404).end('Not found')
  }
})
server.listen(Number(port), 'localhost', () => console.log(`Open http://localhost:${port}/`))

function findFile(pathname) {
  const file = join(resolve(folder), pathname.endsWith('/') ? `${pathname}index.html` : pathname)
  if (!file.startsWith(resolve(folder) + sep)) throw new Error('outside of the folder')
  return file
}
