/** Market-data licences, the entry of this folder: who may use what of a product, and the routes that say so. Loaded on first use. */
export { authzenGroup } from './authzen/routes.ts'
export { licenceGroup } from './http/endpoints.ts'
export { describeRoutes } from './http/openapi.ts'
export { placesGroup } from './http/places-endpoint.ts'
export { endLapsed, openPlaces } from './places.ts'
export { licencesNow, openLicences, type Standing, type SubjectFacts, statusName, toSubject } from './service.ts'
export { type Licensing, openLicensing } from './uses/licensing.ts'
