/** Which of the two applications a request is for: the services are there from the start, all else is the annex's. */
import type { RequestListener } from 'node:http'
import { localAddress } from '../http/app.ts'
import { pathOf } from '../http/doors.ts'

const SERVICES =
  /^\/(?:\.well-known|query|platform|healthz|readyz|metrics|connect\/(?:token|userinfo|introspect|revocation|deviceauthorization))(?:\/|$)/i

export function bySide(base: string, services: RequestListener, annex: RequestListener): RequestListener {
  return (request, response) => {
    const path = pathOf(localAddress(request.url ?? '/', base))
    return SERVICES.test(path) ? services(request, response) : annex(request, response)
  }
}
