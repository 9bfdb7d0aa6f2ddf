/* The control multiplies and adds outside the header, where the compiler may make one instruction of it;
   the other functions do so as the implementation does, and the small math with them, where it must not. */
#define ICF_IMPLEMENTATION
#include "icf_geometry.h"

icf_real icf_test_control(icf_real a, icf_real b, icf_real c);
icf_real icf_test_dot(icf_vec3 a, icf_vec3 b);
icf_quat icf_test_quat(icf_quat q, icf_vec3 w, icf_real dt);
icf_transform icf_test_transform(icf_transform a, icf_mat3 m, icf_vec3 v);

icf_real icf_test_control(icf_real a, icf_real b, icf_real c)
{
    return a * b + c;
}

ICFI_EXACT_BEGIN

icf_real icf_test_dot(icf_vec3 a, icf_vec3 b)
{
    return icf_vec3_dot(icf_vec3_cross(a, b), icf_vec3_normalize(a));
}

icf_quat icf_test_quat(icf_quat q, icf_vec3 w, icf_real dt)
{
    return icf_quat_mul(icf_quat_integrate(q, w, dt), icf_quat_from_rotation_vector(w));
}

icf_transform icf_test_transform(icf_transform a, icf_mat3 m, icf_vec3 v)
{
    icf_transform b =
        icf_transform_make(icf_quat_from_mat3(icf_mat3_mul(m, m)), icf_mat3_apply(m, v));
    return icf_transform_mul(icf_transform_inverse(a), b);
}

ICFI_EXACT_END
