/** The nine keys of a shipping address in the storefront lookup, and the fields they are taken from. */
export const SHIPPING_ADDRESS = {
  name: 'SNAME',
  attention: 'SATTN',
  address_1: 'SADDRESS1',
  address_2: 'SADDRESS2',
  city: 'SCITY',
  state: 'SSTATE',
  zip: 'SZIPCODE',
  country: 'SCOUNTRY',
  phone: 'SPHONE',
};
