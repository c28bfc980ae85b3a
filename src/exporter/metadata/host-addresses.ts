import type { RecordAddresses } from '../../records/record-addresses.ts'
import type { Addresses } from '../../repositories/addresses.ts'

/** Where records say that people and repositories are: on the host's own pages. */
export function recordAddressesOf(addresses: Addresses): RecordAddresses {
  return {
    host: new URL(addresses.userHtml('owner')).origin,
    person: addresses.userHtml,
    repository(fullName) {
      const [owner = '', name = ''] = fullName.split('/')
      return addresses.repository(owner, name).html
    },
  }
}
