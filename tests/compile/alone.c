/* Declarations only, of the header that HEADER names. */
#include HEADER

#ifndef ICF_H
#error "the header declares nothing"
#endif

icf_vec3 icf_test_alone(icf_vec3 a);

icf_vec3 icf_test_alone(icf_vec3 a)
{
    return icf_vec3_normalize(a);
}
