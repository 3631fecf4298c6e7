/** The shipping address of the storefront lookup in the specification: each key, and the field it is taken from. */
const PAIRS = `name=SNAME attention=SATTN address_1=SADDRESS1 address_2=SADDRESS2 city=SCITY state=SSTATE
  zip=SZIPCODE country=SCOUNTRY phone=SPHONE`;
export const SHIPPING_ADDRESS = Object.fromEntries(
  PAIRS.split(/\s+/).map((pair) => pair.split('=') as [string, string]),
);
