/** Which of the two applications a request is for: the services are there from the start, all else is the annex's. */
import type { RequestListener } from 'node:http'
import { pathOf } from '../http/doors.ts'
import { localAddress } from '../http/local-address.ts'

const SERVICES =
  /^\/(?:\.well-known|query|platform|healthz|readyz|metrics|connect\/(?:token|userinfo|introspect|revocation|deviceauthorization))(?:\/|$)/i

/** Requests below the issuer's path, `base`, are answered as if it were not there, whether or not a proxy has cut it off. */
export function bySide(base: string, services: RequestListener, annex: RequestListener): RequestListener {
  return (request, response) => {
    request.url = localAddress(request.url ?? '/', base)
    return SERVICES.test(pathOf(request.url)) ? services(request, response) : annex(request, response)
  }
}
