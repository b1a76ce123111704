/** Prepares what all pages of this node share, and serves the files that they load. */
import type { RouteGroup } from '../../http/route.ts'
import type { Brand } from '../pages/brand.ts'
import type { Place } from '../pages/layout.ts'
import { createAssets, type Logo } from './assets.ts'
import { BROWSER_HEADERS, type PageSettings } from './page-reply.ts'

export interface BrandSettings extends Brand {
  /** Undefined for our own mark. */
  readonly logo: Logo | undefined
}

export interface Pages {
  readonly settings: PageSettings
  /** Serves the files. */
  readonly group: RouteGroup
}

export function createPages(base: string, brand: BrandSettings, places: readonly Place[]): Pages {
  const { assets, routes } = createAssets({ base, brand })
  return {
    settings: { brand, assets, base, places },
    group: { at: ['/assets'], limit: 'pages', headers: BROWSER_HEADERS, routes },
  }
}
